// Finding 42: a namespace in which a Job with backoffLimitPerIndex has a failed pod is never removed. The namespace controller waits for the pod, and the Job
// controller for the pod's replacement, which the namespace refuses.
package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/kubernetes/pkg/controller/namespace"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	name = "a"
	// patient is how long a namespace may take to go; that takes about 10 seconds.
	patient = time.Minute
)

var ctx = context.Background()

// variant is a Job, and what happens before its namespace is deleted.
type variant struct {
	space string
	spec  func(*batchv1.JobSpec)
	then  func(kubernetes.Interface, *batchv1.Job)
	shows bool
}

var variants = []variant{
	{space: "without-limit-per-index", spec: func(*batchv1.JobSpec) {}},
	{space: "with-limit-per-index", spec: func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = new(int32(1)) }, shows: true},
	{space: "replaced-once-failed", spec: func(s *batchv1.JobSpec) {
		s.BackoffLimitPerIndex, s.PodReplacementPolicy = new(int32(1)), new(batchv1.Failed)
	}, shows: true},
	{space: "past-its-deadline", spec: func(s *batchv1.JobSpec) {
		s.BackoffLimitPerIndex, s.ActiveDeadlineSeconds = new(int32(1)), new(int64(30))
	}, shows: true},
	{space: "suspended", spec: func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = new(int32(1)) }, then: suspend, shows: true},
}

func main() {
	config, _ := api.Start()
	config.Wrap(rig.After(func(request *http.Request, response *http.Response) {
		if request.Method == http.MethodPost && response.StatusCode == http.StatusForbidden {
			times, _ := refusals.LoadOrStore(request.URL.Path, 0)
			refusals.Store(request.URL.Path, times.(int)+1)
		}
	}))
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactory(client, 0)
	spaces := namespace.NewNamespaceController(ctx, client, metadata.NewForConfigOrDie(config), client.Discovery().ServerPreferredNamespacedResources,
		factory.Core().V1().Namespaces(), 0, corev1.FinalizerKubernetes)
	factory.Start(ctx.Done())
	go spaces.Run(ctx, 1)
	api.Control(ctx, client, "", 5, api.Jobs)
	go jobs.Kubelet(client, corev1.PodFailed)
	rig.Variants("a namespace is not removed until its Job is deleted by hand", variants, func(v variant) (string, bool, bool) { return v.space, v.shows, v.stays(client) })
}

// stays deletes a namespace with a Job that has a pod, and reports whether it stays.
func (v variant) stays(client kubernetes.Interface) bool {
	api.Namespace(client, v.space)
	spec := jobs.Spec(1, 1)
	v.spec(&spec)
	created := rig.Create(client.BatchV1().Jobs(v.space), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	rig.Until(func() bool { return pod(client, v.space).Status.Phase == corev1.PodRunning })
	if v.then != nil {
		v.then(client, created)
	}

	rig.Delete(client.CoreV1().Namespaces(), v.space)
	if after, gone := v.goes(client); gone {
		fmt.Printf("%s: the namespace is gone after %v\n", v.space, after)
		return false
	}
	stuck, times := pod(client, v.space), 0
	if refused, is := refusals.Load("/api/v1/namespaces/" + v.space + "/pods"); is {
		times = refused.(int)
	}
	rig.Delete(client.BatchV1().Jobs(v.space), name)
	after, gone := v.goes(client)
	if !gone {
		rig.Must(fmt.Errorf("namespace %s stays although its Job is deleted", v.space))
	}
	fmt.Printf("%s: after %v, the namespace has a %s pod with finalizers %v, and has refused its replacement %d times; it is gone %v after the Job is deleted by hand\n",
		v.space, patient, stuck.Status.Phase, stuck.Finalizers, times, after)
	return true
}

// refusals counts the creations that are refused with 403, by path.
var refusals sync.Map

// goes returns how long the namespace takes to go, and whether it does.
func (v variant) goes(client kubernetes.Interface) (time.Duration, bool) {
	took, gone := rig.Wait(100*time.Millisecond, patient, func() bool { return rig.Gone(client.CoreV1().Namespaces(), v.space) })
	return took.Round(time.Second), gone
}

// suspend suspends a Job whose pod has just failed: it is not replaced.
func suspend(client kubernetes.Interface, job *batchv1.Job) {
	rig.Must(client.CoreV1().Pods(job.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	rig.Until(func() bool { return pod(client, job.Namespace).Status.Phase == corev1.PodFailed })
	rig.Patch(client.BatchV1().Jobs(job.Namespace), job.Name, `{"spec":{"suspend":true}}`)
}

// pod returns the only pod of a namespace, or an empty one.
func pod(client kubernetes.Interface, space string) (only corev1.Pod) {
	pods := rig.List(client.CoreV1().Pods(space), "")
	if len(pods.Items) == 1 {
		only = pods.Items[0]
	}
	return only
}
