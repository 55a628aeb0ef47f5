// Finding 68: the controllers of ReplicaSets, DaemonSets and Jobs delete a pod by its name alone. If the pod that they decided about has been deleted and another one
// created under its name before their request is sent, or sent again, they delete the other one, which they do not own.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	node = "node"
	// many pods take seconds to delete with the limits that the clients of kube-controller-manager have by default.
	many = 60
	// patient is how long the controllers may take. A pod of a Job that the user deletes waits for its finalizer to be removed.
	patient = 30 * time.Second
	// outage is how long the controller waits for the response that is lost, and late is how much longer its watch of pods takes to recover.
	outage, late = 2 * time.Second, time.Second
	// quiet is how long the controller sends no DELETE once it has sent all of them.
	quiet = 3 * time.Second
)

var (
	ctx    = context.Background()
	labels = map[string]string{"app": "a"}
)

// variant is a workload that adopts pods, keeps one of them, and deletes the others.
type variant struct {
	name, kind string // the name is also that of the namespace
	pods       int
	// user is what a user does with the pods, and lost is set if the response to the first DELETE of the controller is lost.
	user action
	lost bool
}

type action string

// A pod is replaced by another one of its name, which does not have the label.
const (
	deletes           action = "deletes-meanwhile"
	replacesBefore    action = "replaces-before" // half of them, before there is a workload, so that it has others to delete
	replacesMeanwhile action = "replaces-meanwhile"
)

func main() {
	config, user := api.Start()
	rig.Create(user.CoreV1().Nodes(), api.Node(node))
	var variants []variant
	for _, kind := range []string{"replicaset", "daemonset", "job"} {
		for _, does := range []action{deletes, replacesBefore, replacesMeanwhile} {
			variants = append(variants, variant{name: kind + "-" + string(does), kind: kind, pods: many, user: does})
		}
	}
	variants = append(variants, variant{name: "replicaset-replaces-meanwhile-lost", kind: "replicaset", pods: 2, user: replacesMeanwhile, lost: true})
	rig.Variants("a controller deletes pods that it does not own", variants, func(v variant) (string, bool, bool) {
		return v.name, v.user == replacesMeanwhile, v.run(config, user)
	})
}

// run returns whether the controller deletes a pod that the user has created in place of another one.
func (v variant) run(config *rest.Config, user kubernetes.Interface) bool {
	api.Namespace(user, v.name)
	adopted, created := map[string]types.UID{}, map[types.UID]string{}
	for i := range v.pods {
		name := fmt.Sprintf("web-%d", i)
		adopted[name] = create(user, v.name, name, labels).UID
	}
	replace := func(pods int) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range pods {
			name := fmt.Sprintf("web-%d", i)
			all.Go(func() {
				remove(user, v.name, name, adopted[name])
				if v.user != deletes {
					other := create(user, v.name, name, nil)
					mu.Lock()
					defer mu.Unlock()
					created[other.UID] = name
				}
			})
		}
		all.Wait()
	}
	if v.user == replacesBefore {
		replace(v.pods / 2)
	}
	sent := &requests{}
	v.control(config, sent)
	rig.Await(10*time.Millisecond, patient, "the controller deletes no pods", func() bool { return sent.answered.Load() != nil })
	if v.user != replacesBefore {
		replace(v.pods)
	}
	rig.Await(10*time.Millisecond, patient, "the controller goes on deleting pods", func() bool { return time.Since(*sent.answered.Load()) > quiet })

	wrong, example := 0, ""
	for uid, name := range created {
		if _, deleted := sent.deleted.Load(uid); deleted {
			wrong++
			example = cmp.Or(example, fmt.Sprintf(", such as %s with UID %s in place of %s", name, uid, adopted[name]))
		}
	}
	fmt.Printf("%s: of %d new pods, the controller deleted %d%s\n", v.name, len(created), wrong, example)
	return wrong > 0
}

// create creates a pod that is to be scheduled to the node. As nobody does that, it is removed as soon as it is deleted.
func create(user kubernetes.Interface, space, name string, labels map[string]string) *corev1.Pod {
	return rig.Create(user.CoreV1().Pods(space), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: spec("")})
}

// remove deletes a pod, unless that has been done, and waits until it is gone, as kubectl does.
func remove(user kubernetes.Interface, space, name string, uid types.UID) {
	pods := user.CoreV1().Pods(space)
	_ = pods.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	rig.Await(10*time.Millisecond, patient, "a pod is not removed", func() bool { return rig.Gone(pods, name) })
}

func spec(restart corev1.RestartPolicy) corev1.PodSpec {
	return corev1.PodSpec{RestartPolicy: restart, Affinity: daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(nil, node), Containers: []corev1.Container{{Name: "c", Image: "image"}}}
}

// control creates the workload, and runs its controller with the limits that its client has by default in kube-controller-manager.
func (v variant) control(config *rest.Config, sent *requests) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.ContentType = 20, 30, runtime.ContentTypeJSON
	if v.lost {
		config.Wrap(rig.Wrap(sent.lose))
	}
	config.Wrap(rig.After(sent.note))
	config.Wrap(rig.Watching(func(of string) {
		if path.Base(of) == "pods" {
			sent.watching.RLock()
			defer sent.watching.RUnlock()
		}
	}))
	client := kubernetes.NewForConfigOrDie(config)
	named, selector := metav1.ObjectMeta{Name: "a"}, &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec("")}
	var controller api.Controller
	switch v.kind {
	case "replicaset":
		replicas := int32(1)
		if v.lost {
			replicas = int32(v.pods) // first, as its controller waits for its watch until that has brought those that it has adopted
		}
		rig.Create(client.AppsV1().ReplicaSets(v.name), &appsv1.ReplicaSet{ObjectMeta: named, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template, Replicas: &replicas}})
		controller = api.ReplicaSets
	case "daemonset":
		onDelete := appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
		rig.Create(client.AppsV1().DaemonSets(v.name), &appsv1.DaemonSet{ObjectMeta: named, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template, UpdateStrategy: onDelete}})
		controller = api.DaemonSets
	case "job":
		template.Spec = spec(corev1.RestartPolicyNever)
		rig.Create(client.BatchV1().Jobs(v.name), &batchv1.Job{ObjectMeta: named, Spec: batchv1.JobSpec{Selector: selector, ManualSelector: new(true), Template: template}})
		controller = api.Jobs
	}
	api.Control(ctx, client, v.name, 5, controller)
	if v.lost {
		time.Sleep(late)
		rig.Patch(client.AppsV1().ReplicaSets(v.name), named.Name, `{"spec":{"replicas":1}}`)
	}
}

// requests are those that the controller sends.
type requests struct {
	answered atomic.Pointer[time.Time] // when the last DELETE was answered
	deleted  sync.Map                  // the UIDs of the pods that they have deleted
	lost     atomic.Bool               // the response to the first DELETE
	watching sync.RWMutex              // locked while the watch of pods stalls
}

// note notes what a request has deleted.
func (r *requests) note(request *http.Request, response *http.Response) {
	if request.Method != http.MethodDelete {
		return
	}
	r.answered.Store(new(time.Now()))
	if response.StatusCode == http.StatusOK {
		var of struct{ Metadata, Details struct{ UID types.UID } } // a pod that terminates, or a status
		rig.Must(json.Unmarshal(rig.Body(response), &of))
		r.deleted.Store(cmp.Or(of.Metadata.UID, of.Details.UID), true)
	}
}

// lose loses the response to the first DELETE, as if the connection were lost. The watch of pods stalls.
func (r *requests) lose(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodDelete || !r.lost.CompareAndSwap(false, true) {
		return inner.RoundTrip(request)
	}
	r.watching.Lock()
	response, err := inner.RoundTrip(request)
	if err != nil {
		return response, err
	}
	r.note(request, response)
	time.Sleep(outage)
	time.AfterFunc(late, r.watching.Unlock)
	return nil, errors.New("http2: client connection lost")
}
