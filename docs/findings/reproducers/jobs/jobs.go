// Package jobs runs the released Job controller against the API server of package api, with a stub for the kubelet.
package jobs

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space = "red"
	// patient is how long Until waits.
	patient = 20 * time.Second
	// grace is how many seconds a pod takes to fail after its deletion.
	grace = 4
)

var ctx = context.Background()

// Cluster has an API server, the Job controller and a kubelet.
type Cluster struct {
	client kubernetes.Interface

	mu      sync.Mutex
	refused map[string][]string
	failing []string
}

// Start starts a cluster. The controller's client has the limits that it has by default in kube-controller-manager.
func Start() *Cluster {
	config, client := api.Start(space)
	c := &Cluster{client: client, refused: map[string][]string{}}
	limited := rest.CopyConfig(config)
	limited.QPS, limited.Burst = 20, 30
	limited.Wrap(rig.Wrap(c.record))
	api.Control(ctx, kubernetes.NewForConfigOrDie(limited), "", 5, api.Jobs) // as many workers as by default
	go Kubelet(c.client, corev1.PodFailed)
	return c
}

// Spec returns that of an Indexed Job, as many of whose pods run in parallel as it has completions, and take some seconds to fail after their deletion.
func Spec(completions int32, grace int64) batchv1.JobSpec {
	return batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: &completions, Parallelism: &completions,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			NodeName: "node", RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "image"}}, TerminationGracePeriodSeconds: &grace,
		}},
	}
}

// Create creates a Job and waits until its pods run.
func (c *Cluster) Create(name string, completions int32, change func(*batchv1.JobSpec)) {
	spec := Spec(completions, grace)
	change(&spec)
	rig.Create(c.client.BatchV1().Jobs(space), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	c.Until(name, func(j *batchv1.Job) bool {
		return j.Status.Active == completions && len(c.running(name)) == int(completions)
	})
}

// Patch changes the spec of a Job.
func (c *Cluster) Patch(name, spec string) {
	rig.Patch(c.client.BatchV1().Jobs(space), name, `{"spec":`+spec+`}`)
}

// Until waits until the status of a Job is as wanted. It returns how long that took, and whether it came to that.
func (c *Cluster) Until(name string, wanted func(*batchv1.Job) bool) (time.Duration, bool) {
	took, met := rig.Wait(50*time.Millisecond, patient, func() bool { return wanted(c.Job(name)) })
	return took.Round(100 * time.Millisecond), met
}

// Job returns a Job as it is stored.
func (c *Cluster) Job(name string) *batchv1.Job {
	return rig.Get(c.client.BatchV1().Jobs(space), name)
}

// Has reports whether a Job has one of some conditions.
func Has(j *batchv1.Job, conditions ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return slices.Contains(conditions, c.Type) && c.Status == corev1.ConditionTrue
	})
}

// Finished reports whether a Job is finished.
func Finished(j *batchv1.Job) bool { return Has(j, batchv1.JobComplete, batchv1.JobFailed) }

// Describe returns a Job's conditions that are true, its completed and failed indexes, and how often a write of its status was refused, and why.
func (c *Cluster) Describe(name string) string {
	var parts []string
	j := c.Job(name)
	for _, one := range j.Status.Conditions {
		if one.Status == corev1.ConditionTrue {
			parts = append(parts, string(one.Type))
		}
	}
	if done := j.Status.CompletedIndexes; done != "" {
		parts = append(parts, "completed indexes "+done)
	}
	if failed := ptr.Deref(j.Status.FailedIndexes, ""); failed != "" {
		parts = append(parts, "failed indexes "+failed)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := c.refused[name]; len(all) > 0 {
		parts = append(parts, fmt.Sprintf("%d status writes refused (%s)", len(all), all[len(all)-1]))
	}
	return strings.Join(parts, ", ")
}

// End ends the containers of pods with some indexes, with an exit code.
func (c *Cluster) End(name string, code int32, indexes ...string) {
	for index, pod := range c.running(name) {
		if slices.Contains(indexes, index) {
			phase := corev1.PodSucceeded
			if code != 0 {
				phase = corev1.PodFailed
			}
			status := fmt.Sprintf(`{"status":{"phase":%q,"containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":%d}}}]}}`, phase, code)
			rig.Patch(c.client.CoreV1().Pods(space), pod.Name, status, "status")
		}
	}
}

// Evict deletes pods with some indexes, as a drained node does.
func (c *Cluster) Evict(name string, indexes ...string) {
	for index, pod := range c.running(name) {
		if slices.Contains(indexes, index) {
			rig.Delete(c.client.CoreV1().Pods(space), pod.Name)
		}
	}
}

// Deleted reports whether the pod with an index is gone or terminating.
func (c *Cluster) Deleted(name, index string) bool {
	pod, runs := c.running(name)[index]
	return !runs || pod.DeletionTimestamp != nil
}

// Release removes the finalizers of a pod that has succeeded, as somebody does by hand.
func (c *Cluster) Release(name, index string) {
	for _, pod := range c.pods(name) {
		if pod.Status.Phase == corev1.PodSucceeded && indexOf(pod) == index {
			rig.Patch(c.client.CoreV1().Pods(space), pod.Name, `{"metadata":{"finalizers":null}}`)
		}
	}
}

// Fail has the next request of the controller that has this method, and is about a pod of a Job, fail.
func (c *Cluster) Fail(method, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing = append(c.failing, method+" /api/v1/namespaces/"+space+"/pods/"+name+"-")
}

// fails reports whether a request is to fail.
func (c *Cluster) fails(request *http.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.failing)
	c.failing = slices.DeleteFunc(c.failing, func(prefix string) bool { return strings.HasPrefix(request.Method+" "+request.URL.Path, prefix) })
	return len(c.failing) < before
}

// running returns the pods of a Job whose containers run by their index.
func (c *Cluster) running(name string) map[string]corev1.Pod {
	running := map[string]corev1.Pod{}
	for _, pod := range c.pods(name) {
		if pod.Status.Phase == corev1.PodRunning {
			running[indexOf(pod)] = pod
		}
	}
	return running
}

func (c *Cluster) pods(name string) []corev1.Pod {
	return rig.List(c.client.CoreV1().Pods(space), batchv1.JobNameLabel+"="+name).Items
}

func indexOf(pod corev1.Pod) string { return pod.Annotations[batchv1.JobCompletionIndexAnnotation] }

// Kubelet runs the pods of all namespaces. One that is deleted ends with its grace period at the latest, and is then deleted without one, which confirms that nothing of
// it runs or is mounted. The phase is that in which it ends.
func Kubelet(client kubernetes.Interface, end corev1.PodPhase) {
	for ; ; time.Sleep(100 * time.Millisecond) {
		for _, pod := range rig.List(client.CoreV1().Pods(""), "").Items {
			deleted := pod.DeletionTimestamp
			switch {
			case pod.Status.Phase == corev1.PodPending:
				pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
			case deleted == nil || pod.Status.Phase == corev1.PodRunning && time.Now().Before(deleted.Time):
				continue
			case pod.Status.Phase == corev1.PodRunning:
				pod.Status = corev1.PodStatus{Phase: end}
			case *pod.DeletionGracePeriodSeconds > 0:
				options := metav1.NewDeleteOptions(0)
				options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
				_ = client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
				continue
			default:
				continue
			}
			_, _ = client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{}) // again if it conflicts
		}
	}
}

// record has requests fail, and notes why the API server refuses a status.
func (c *Cluster) record(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
	if c.fails(request) {
		return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}, Body: http.NoBody, Request: request}, nil
	}
	response, err := inner.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnprocessableEntity {
		return response, err
	}
	var status metav1.Status
	_, _, err = scheme.Codecs.UniversalDeserializer().Decode(rig.Body(response), nil, &status)
	rig.Must(err)
	name := path.Base(strings.TrimSuffix(request.URL.Path, "/status"))
	c.mu.Lock()
	defer c.mu.Unlock()
	_, why, _ := strings.Cut(status.Message, "is invalid: ")
	c.refused[name] = append(c.refused[name], why)
	return response, nil
}
