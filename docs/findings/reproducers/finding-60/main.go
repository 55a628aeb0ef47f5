// Finding 60: a namespace is deleted and recreated, and the API server that the controllers use has not observed that yet. It refuses what they create, as the namespace
// terminates. They take that for final, although the new namespace does not terminate: they do not retry, or wait for pods that they have not created.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	space    = "red"
	patient  = 30 * time.Second
	touching = 10 * time.Second
)

var ctx = context.Background()

// workloads are a Job, a ReplicaSet and a Deployment, by their paths. Their names are labels of what is created for them.
var workloads = map[string]string{
	"/apis/batch/v1/namespaces/red/jobs/job":              fmt.Sprintf(workload, "job", "", "job", "Never"),
	"/apis/apps/v1/namespaces/red/replicasets/replicaset": fmt.Sprintf(workload, "replicaset", `"selector":{"matchLabels":{"app":"replicaset"}},`, "replicaset", "Always"),
	"/apis/apps/v1/namespaces/red/deployments/deployment": fmt.Sprintf(workload, "deployment", `"selector":{"matchLabels":{"app":"deployment"}},`, "deployment", "Always"),
}

const workload = `{"metadata":{"name":%q},"spec":{%s"template":{"metadata":{"labels":{"app":%q}},"spec":{"restartPolicy":%q,"containers":[{"name":"c","image":"image"}]}}}}`

// variant is how late the API server of the controllers observes that the namespace was recreated, and whether the controllers receive another cause of refusals.
type variant struct {
	name  string
	late  time.Duration
	other bool
}

func main() {
	etcd := rig.StartEtcd()
	rig.Variants("controllers give up in a namespace that does not terminate", []variant{
		{"0s late", 0, false},
		{"2s late, and refusals have another cause", 2 * time.Second, true},
		{"2s late", 2 * time.Second, false},
	}, func(v variant) (string, bool, bool) { return v.name, v.late > 0 && !v.other, v.run(etcd) })
}

// run recreates a namespace, creates workloads in it, and reports whether the controllers give up.
func (v variant) run(etcd string) bool {
	over, relay := store.Options{Etcd: etcd, Prefix: "/" + v.name}, (*rig.Relay)(nil)
	user := kubernetes.NewForConfigOrDie(api.Over(over, api.Directly))
	config := api.Over(over, func(address string) string {
		relay = rig.NewRelay(address)
		return relay.Address
	})
	second, refused := kubernetes.NewForConfigOrDie(config), &atomic.Int64{}
	config.Wrap(rig.After(func(_ *http.Request, response *http.Response) {
		if response.StatusCode != http.StatusForbidden {
			return
		}
		refused.Add(1)
		if v.other {
			body := bytes.ReplaceAll(rig.Body(response), []byte(corev1.NamespaceTerminatingCause), []byte(strings.Repeat("x", len(corev1.NamespaceTerminatingCause))))
			response.Body = io.NopCloser(bytes.NewReader(body))
		}
	}))

	spaces, named := user.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}
	rig.Create(spaces, named)
	rig.Delete(spaces, space)
	rig.Await(time.Millisecond, 10*time.Second, "the second API server does not observe the deletion", func() bool {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "any"}}
		_, err := second.CoreV1().ServiceAccounts(space).Create(ctx, account, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	})
	relay.Hold()
	rig.Value(spaces.Finalize(ctx, named, metav1.UpdateOptions{})) // as the namespace controller does once a namespace is empty
	if v.late == 0 {
		relay.Release()
		time.Sleep(time.Second)
	}
	api.Control(ctx, kubernetes.NewForConfigOrDie(config), "", 1, api.Jobs, api.Deployments, api.ReplicaSets, accounts)
	rig.Create(spaces, named)
	for of, body := range workloads {
		rig.Must(user.BatchV1().RESTClient().Post().AbsPath(path.Dir(of)).SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(ctx).Error())
	}
	if v.late > 0 {
		time.AfterFunc(v.late, relay.Release)
	}
	state, complete := wait(user, patient)
	fmt.Printf("%s: %s; refused creates: %d\n", v.name, state, refused.Load())
	if complete {
		return false
	}
	for _, of := range append(slices.Collect(maps.Keys(workloads)), "/api/v1/namespaces/"+space) {
		annotation := []byte(`{"metadata":{"annotations":{"changed":"yes"}}}`)
		rig.Must(user.BatchV1().RESTClient().Patch(types.MergePatchType).AbsPath(of).Body(annotation).Do(ctx).Error())
	}
	state, _ = wait(user, touching)
	fmt.Printf("%s, and everything annotated: %s\n", v.name, state)
	return true
}

// accounts creates the controller of ServiceAccounts.
func accounts(_ context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) func(context.Context, int) {
	core, options := factory.Core().V1(), serviceaccount.DefaultServiceAccountsControllerOptions()
	return rig.Value(serviceaccount.NewServiceAccountsController(klog.Background(), core.ServiceAccounts(), core.Namespaces(), client, options)).Run
}

// wait waits until the controllers have created everything, and says what comes of that.
func wait(client kubernetes.Interface, patience time.Duration) (state string, complete bool) {
	var missing []string
	took, complete := rig.Wait(50*time.Millisecond, patience, func() bool {
		missing = nil
		for _, name := range []string{"job", "replicaset"} {
			if len(rig.List(client.CoreV1().Pods(space), "app="+name).Items) == 0 {
				missing = append(missing, "the pod of the "+name)
			}
		}
		if len(rig.List(client.AppsV1().ReplicaSets(space), "app=deployment").Items) == 0 {
			missing = append(missing, "the replicaset of the deployment")
		}
		if _, err := client.CoreV1().ServiceAccounts(space).Get(ctx, "default", metav1.GetOptions{}); apierrors.IsNotFound(err) {
			missing = append(missing, "the default serviceaccount")
		}
		return len(missing) == 0
	})
	if complete {
		return fmt.Sprintf("everything is there after %v", took.Round(100*time.Millisecond)), true
	}
	return fmt.Sprintf("missing after %v: %s", patience, strings.Join(missing, ", ")), false
}
