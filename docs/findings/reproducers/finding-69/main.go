// Finding 69: a Job is deleted and recreated under its name while the Job controller does not watch Jobs. When its informer lists them again, it tells that as an update.
// The controller then takes what it remembers of the old Job for that of the new one: a pod that it has created, or pods that have failed. The new Job gets no pods.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	name = "a"
	// patient is how long a Job waits for its pod. An expectation lasts for five minutes, and the backoff after six failures for 320 s.
	patient = 20 * time.Second
	// told is how long an informer has to call its handlers once it has an object.
	told = 100 * time.Millisecond
)

// variant is what happens before a Job is recreated.
type variant struct {
	name string
	// ends are the resources whose watches end when the controller is about to create the Job's pod, or once the Job's pods have failed. They are listed in this order.
	ends []string
	// failures are how many of the Job's pods fail, and renamed is set if the new Job gets another name.
	failures       int32
	renamed, shows bool
}

var variants = []variant{
	{name: "jobs-are-watched", ends: []string{"pods"}},
	{name: "pods-are-watched", ends: []string{"jobs"}},
	{name: "pods-listed-first", ends: []string{"pods", "jobs"}},
	{name: "another-name", ends: []string{"jobs", "pods"}, renamed: true},
	{name: "jobs-listed-first", ends: []string{"jobs", "pods"}, shows: true},
	{name: "failures-jobs-are-watched", failures: 6},
	{name: "failures", ends: []string{"jobs"}, failures: 6, shows: true},
}

func main() {
	config, user := api.Start()
	rig.Variants("a recreated Job gets no pods", variants, func(v variant) (string, bool, bool) { return v.name, v.shows, v.run(config, user) })
}

// run recreates a Job in a namespace of its own, with a controller that knows only this namespace. It returns whether the new Job gets no pod.
func (v variant) run(config *rest.Config, user kubernetes.Interface) bool {
	api.Namespace(user, v.name)
	watches := map[string]*watch{"jobs": {}, "pods": {}}
	end := sync.OnceFunc(func() {
		for _, resource := range v.ends {
			watches[resource].end()
		}
	})
	informed := control(config, v.name, watches, func() {
		if v.failures == 0 {
			end()
		}
	})
	old := create(user, v.name, name, max(v.failures, 1))
	rig.Await(10*time.Millisecond, patient, "a Job gets no pods", func() bool { return status(user, v.name).Active == max(v.failures, 1) })
	if v.failures > 0 {
		fail(user, v.name)
		rig.Await(10*time.Millisecond, patient, "failed pods are not counted", func() bool { return status(user, v.name).Failed == v.failures })
		end()
	}
	rig.Delete(user.BatchV1().Jobs(v.name), name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	again := name
	if v.renamed {
		again = "another"
	}
	replacement := create(user, v.name, again, max(v.failures, 1))
	observed := map[string]func() bool{
		"jobs": func() bool {
			one, err := informed.Batch().V1().Jobs().Lister().Jobs(v.name).Get(again)
			return err == nil && one.UID == replacement.UID
		},
		"pods": func() bool { return len(informed.Core().V1().Pods().Informer().GetStore().List()) > 0 },
	}
	for _, resource := range v.ends {
		watches[resource].resume()
		rig.Await(time.Millisecond, patient, "an informer does not list again", observed[resource])
		time.Sleep(told)
	}
	took, has := rig.Wait(10*time.Millisecond, patient, func() bool { return len(podsOf(user, v.name, replacement.UID)) > 0 })
	what := fmt.Sprintf("has no pod after %v", patient)
	if has {
		what = fmt.Sprintf("gets its first pod after %v", took.Round(time.Millisecond))
	}
	fmt.Printf("%s: the new Job %s; the old one had %d\n", v.name, what, len(podsOf(user, v.name, old.UID)))
	return !has
}

func create(user kubernetes.Interface, space, name string, pods int32) *batchv1.Job {
	return rig.Create(user.BatchV1().Jobs(space), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: jobs.Spec(pods, 0)})
}

func status(user kubernetes.Interface, space string) batchv1.JobStatus {
	return rig.Get(user.BatchV1().Jobs(space), name).Status
}

// podsOf returns the pods of a Job.
func podsOf(user kubernetes.Interface, space string, of types.UID) []corev1.Pod {
	return rig.List(user.CoreV1().Pods(space), batchv1.ControllerUidLabel+"="+string(of)).Items
}

// fail has all pods fail, as a kubelet does whose containers exit with an error.
func fail(user kubernetes.Interface, space string) {
	for _, pod := range rig.List(user.CoreV1().Pods(space), "").Items {
		exited := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.Now()}}
		pod.Status.Phase, pod.Status.ContainerStatuses = corev1.PodFailed, []corev1.ContainerStatus{{Name: "c", State: exited}}
		rig.UpdateStatus(user.CoreV1().Pods(space), &pod)
	}
}

// control runs the Job controller for a namespace, with as many workers as it has by default, and returns its informers. It calls a function before it creates a pod.
func control(config *rest.Config, space string, watches map[string]*watch, creates func()) informers.SharedInformerFactory {
	config = rest.CopyConfig(config)
	config.Wrap(rig.After(func(request *http.Request, response *http.Response) {
		if of := watches[path.Base(request.URL.Path)]; of != nil && request.URL.Query().Has("watch") {
			of.begins(request, response)
		}
	}))
	config.Wrap(rig.Before(func(request *http.Request) {
		if request.Method == http.MethodPost && path.Base(request.URL.Path) == "pods" {
			creates()
		}
		if of := watches[path.Base(request.URL.Path)]; of != nil && request.Method == http.MethodGet && lists(request) {
			of.down.RLock() // until it is resumed
			defer of.down.RUnlock()
		}
	}))
	return api.Control(context.Background(), kubernetes.NewForConfigOrDie(config), space, 5, api.Jobs)
}

// lists reports whether a request is a list, or a watch that begins with one.
func lists(request *http.Request) bool {
	return !request.URL.Query().Has("watch") || request.URL.Query().Has("sendInitialEvents")
}

// watch is the controller's watch of a resource.
type watch struct {
	// down is locked while lists wait.
	down sync.RWMutex

	mu sync.Mutex
	// expired is set from the end of the watch until a list.
	expired bool
	open    io.Closer
}

// end ends the watch. It cannot be continued, as with a server that has restarted since, and lists wait until it is resumed.
func (w *watch) end() {
	w.down.Lock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expired = true
	_ = w.open.Close()
}

func (w *watch) resume() { w.down.Unlock() }

// begins is called with the response to a request to watch.
func (w *watch) begins(request *http.Request, response *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired && !lists(request) {
		_ = response.Body.Close()
		response.StatusCode, response.Header = http.StatusGone, http.Header{"Content-Type": {"application/json"}}
		response.Body = io.NopCloser(bytes.NewBufferString(`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410}`))
		return
	}
	w.expired, w.open = false, response.Body
}
