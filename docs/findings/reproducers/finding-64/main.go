// Finding 64: Jobs are deleted and recreated under their names. What keeps the Job controller from creating pods again that it has not observed yet is stored under the name
// of a Job, and lost by what is done for its predecessor. A Job then gets a second pod for an index.
package main

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/job"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space = "red"
	// rounds is how often atOnce Jobs are recreated at once, every other time in controls. There are as many workers, so that no Job waits for another.
	rounds, atOnce = 8, 50
	// patching and putting are how long the controller waits for responses, so that a finalizer is removed before a status is written.
	patching, putting = 50 * time.Millisecond, 150 * time.Millisecond
	// late is how much later than that of Jobs the watch of pods is.
	late = 500 * time.Millisecond
)

var ctx = context.Background()

// variant is what differs when Jobs are recreated.
type variant struct {
	name string
	// podless is set if their predecessors have no pods, prompt if the watch of pods is not late, and renamed if they get other names.
	podless, prompt, renamed, shows bool
}

var variants = []variant{
	{name: "predecessors-without-pods", podless: true},
	{name: "prompt-watch-of-pods", prompt: true},
	{name: "other-names", renamed: true},
	{name: "recreated", shows: true},
}

func main() {
	config, client := api.Start(space)
	control(config)
	twice := count(client)
	for _, v := range variants {
		step := 2
		if v.shows {
			step = 1
		}
		for round := 0; round < rounds; round += step {
			// The controller syncs a Job a second after it has observed its first status. Those of the first Jobs are due a bit earlier than that of the middle one.
			v.run(client, fmt.Sprintf("%s-%d-", v.name, round), job.SyncJobBatchPeriod+time.Duration(round-rounds)*10*time.Millisecond)
		}
		seen, all, example := twice(v.name), rounds/step*atOnce, ""
		if len(seen) > 0 {
			example = ", such as " + seen[0]
		}
		fmt.Printf("%s: of %d Jobs, %d had two living pods for their only index%s\n", v.name, all, len(seen), example)
		if v.shows {
			rig.Verdict(len(seen), all, "a recreated Job has two pods for an index")
		}
		if len(seen) > 0 {
			rig.Must(fmt.Errorf("a control, %s, shows the bug", v.name))
		}
	}
}

// run creates Jobs, and recreates them while the controller's watches are held. That of Jobs goes on some time after half of them have got a status, and that of pods later.
func (v variant) run(client kubernetes.Interface, prefix string, after time.Duration) {
	written.Store(0)
	each(func(i int) { create(client, fmt.Sprint(prefix, i), v.podless) })
	rig.Until(func() bool { return written.Load() >= atOnce/2 })
	resumed := time.After(after)
	time.Sleep(after / 3) // until all have pods and a status
	held["jobs"].Lock()
	if !v.prompt {
		held["pods"].Lock()
	}
	each(func(i int) {
		name := fmt.Sprint(prefix, i)
		rig.Delete(client.BatchV1().Jobs(space), name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		if v.renamed {
			name += "-again"
		}
		create(client, name, false)
	})
	<-resumed
	held["jobs"].Unlock()
	time.Sleep(late)
	if !v.prompt {
		held["pods"].Unlock()
	}
}

func each(f func(i int)) {
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// create creates a Job with one index. A suspended one gets no pod.
func create(client kubernetes.Interface, name string, suspended bool) {
	spec := jobs.Spec(1, 0)
	spec.Suspend = &suspended
	rig.Create(client.BatchV1().Jobs(space), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
}

// control runs the Job controller, whose client uses protobuf as that of kube-controller-manager does.
func control(config *rest.Config) {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.Wrap(rig.After(func(request *http.Request, _ *http.Response) {
		switch request.Method {
		case http.MethodPatch:
			time.Sleep(patching)
		case http.MethodPut:
			written.Add(1)
			time.Sleep(putting)
		}
	}))
	config.Wrap(rig.Watching(func(of string) {
		if by := held[path.Base(of)]; by != nil {
			by.RLock()
			defer by.RUnlock()
		}
	}))
	api.Control(ctx, kubernetes.NewForConfigOrDie(config), "", atOnce, api.Jobs)
}

// count watches pods. It returns a function that names those that were created while another one of the same Job lived, for Jobs with a prefix.
func count(client kubernetes.Interface) (twice func(prefix string) []string) {
	var mu sync.Mutex
	living, seen := map[types.UID]string{}, []string{} // by Job
	factory := informers.NewSharedInformerFactory(client, 0)
	rig.Value(factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			mu.Lock()
			defer mu.Unlock()
			pod := o.(*corev1.Pod)
			of := pod.OwnerReferences[0].UID
			if other, lives := living[of]; lives {
				seen = append(seen, pod.Name+" and "+other)
			}
			living[of] = pod.Name
		},
		UpdateFunc: func(_, o any) {
			mu.Lock()
			defer mu.Unlock()
			pod := o.(*corev1.Pod)
			if of := pod.OwnerReferences[0].UID; pod.DeletionTimestamp != nil && living[of] == pod.Name {
				delete(living, of)
			}
		},
	}))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return func(prefix string) []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.DeleteFunc(slices.Clone(seen), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	}
}

// held are locked while the controller's watch of a resource is held back.
var held = map[string]*sync.RWMutex{"jobs": {}, "pods": {}}

// written counts the statuses that the controller has written.
var written atomic.Int64
