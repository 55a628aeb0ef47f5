// Finding 40: a DaemonSet is deleted, its pods are orphaned, and it is recreated with another image. It adopts the pods and, if both templates have the same
// generation, counts them as updated and never replaces them.
package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/daemons"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const nodes = 3

var ctx = genericrequest.WithRequestInfo(genericrequest.WithNamespace(context.Background(), daemons.Space), &genericrequest.RequestInfo{APIVersion: "v1", APIGroup: "apps", Resource: "daemonsets"})

func main() {
	sets, _, err := storage.NewREST(store.Options{Etcd: rig.StartEtcd(), Uncached: true})
	rig.Must(err)
	shown := 0
	for _, r := range []struct{ changed, exported, shows bool }{{true, false, false}, {false, false, true}, {true, true, true}} {
		if !recreated(sets, r.changed, r.exported) && r.shows {
			shown++
		}
	}
	rig.Verdict(shown, 2, "a recreated DaemonSet counts adopted pods of another template as updated, and does not replace them")
}

// recreated deletes a DaemonSet, whose template has been changed or not, orphans its pods, and creates it with another image, from a manifest of its own or one
// that was exported from the cluster. It reports whether the pods are replaced.
func recreated(sets *storage.REST, changed, exported bool) bool {
	client := daemons.Cluster(nodes, func(string) time.Time { return time.Now() })
	defer daemons.Start(client)()
	var image string
	var annotations map[string]string
	run := func(set *appsv1.DaemonSet, write func(*appsv1.DaemonSet)) {
		image, annotations = set.Spec.Template.Spec.Containers[0].Image, set.Annotations
		write(set)
		rig.Until(func() bool { return len(daemons.Pods(client, image)) == nodes })
	}
	creates := func(set *appsv1.DaemonSet) { rig.Create(client.AppsV1().DaemonSets(daemons.Space), set) }
	run(create(sets, "first", nil), creates)
	if changed {
		run(update(sets, "second"), func(set *appsv1.DaemonSet) { rig.Update(client.AppsV1().DaemonSets(daemons.Space), set) })
	}
	store.Delete(ctx, sets, daemons.Name, &metav1.DeleteOptions{})
	orphan(client)
	time.Sleep(time.Second) // so that the pods are older than the new DaemonSet
	adopted := daemons.Pods(client, image)[0]
	if !exported {
		annotations = nil
	}
	last := create(sets, "last", annotations)
	began := time.Now()
	run(last, creates)

	status := rig.Get(client.AppsV1().DaemonSets(daemons.Space), daemons.Name)
	replaced := len(daemons.Pods(client, "last"))
	store.Delete(ctx, sets, daemons.Name, &metav1.DeleteOptions{})
	fmt.Printf("pods of template generation %s, new DaemonSet of template generation %s: after %v, %d of %d pods are replaced, and the status says that %d are updated\n",
		adopted.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey], last.Annotations[appsv1.DeprecatedTemplateGeneration], time.Since(began).Round(100*time.Millisecond),
		replaced, nodes, status.Status.UpdatedNumberScheduled)
	return replaced == nodes
}

// create creates the DaemonSet in the API server's storage.
func create(sets *storage.REST, image string, annotations map[string]string) *appsv1.DaemonSet {
	set := daemons.Set(image, appsv1.RollingUpdateDaemonSet{})
	set.Annotations = annotations
	return external(rig.Value(sets.Create(ctx, store.Internal(set, &apps.DaemonSet{}), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})))
}

// update changes the image of the DaemonSet in the API server's storage.
func update(sets *storage.REST, image string) *appsv1.DaemonSet {
	return external(rig.Value(store.Change(ctx, sets, daemons.Name, func(set *apps.DaemonSet) { set.Spec.Template.Spec.Containers[0].Image = image })))
}

// external returns a DaemonSet as clients of the API server see it; the fake client has other resource versions.
func external(internal runtime.Object) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{}
	rig.Must(legacyscheme.Scheme.Convert(internal, set, nil))
	set.ResourceVersion = ""
	return set
}

// orphan deletes the DaemonSet and the references of its pods and revisions to it, as kubectl delete --cascade=orphan makes the garbage collector do.
func orphan(client *fake.Clientset) {
	rig.Delete(client.AppsV1().DaemonSets(daemons.Space), daemons.Name)
	time.Sleep(100 * time.Millisecond) // so that the controller knows
	pods, revisions := client.CoreV1().Pods(daemons.Space), client.AppsV1().ControllerRevisions(daemons.Space)
	for _, pod := range rig.List(pods, "").Items {
		pod.OwnerReferences = nil
		rig.Update(pods, &pod)
	}
	for _, revision := range rig.List(revisions, "").Items {
		revision.OwnerReferences = nil
		rig.Update(revisions, &revision)
	}
}
