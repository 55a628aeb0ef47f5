// Finding 50: a pod of a Job loses the label by which the Job selects it, and the Job is deleted in the foreground before the Job controller has released the pod.
// The controller then neither releases it nor removes its finalizer, so that the pod and the Job stay. If the Job is deleted again, in the background, the pod stays.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space = "red"
	// shortly is how long a command takes, and later is longer than the Job controller takes to release a pod.
	shortly, later = 200 * time.Millisecond, 3 * time.Second
	// patient is how long a deletion may take; that takes about four seconds, the pod's grace period.
	patient = 30 * time.Second
)

var ctx = context.Background()

// variant is what becomes of a Job's pod before the Job is deleted.
type variant struct {
	name string
	// kept is set if the pod keeps its label, and after is how much later the Job is deleted.
	kept   bool
	after  time.Duration
	policy metav1.DeletionPropagation
	// again is set if the Job is deleted once more, in the background, which ends the foreground deletion.
	again, shows bool
}

var variants = []variant{
	{name: "label-kept", kept: true, after: shortly, policy: metav1.DeletePropagationForeground},
	{name: "relabelled-earlier", after: later, policy: metav1.DeletePropagationForeground},
	{name: "in-the-background", after: shortly, policy: metav1.DeletePropagationBackground},
	{name: "relabelled", after: shortly, policy: metav1.DeletePropagationForeground, shows: true},
	{name: "deleted-again", after: shortly, policy: metav1.DeletePropagationForeground, again: true, shows: true},
}

// observed waits until all variants have had the first controller for long enough.
var observed sync.WaitGroup

func main() {
	config, client := api.Start(space)
	first, stop := context.WithCancel(ctx)
	api.Control(first, client, "", 5, api.Jobs)
	go jobs.Kubelet(client, corev1.PodFailed)
	collector.Over(config)
	observed.Add(len(variants))
	restart := sync.OnceFunc(func() {
		observed.Wait()
		stop()
		api.Control(ctx, client, "", 5, api.Jobs)
	})
	rig.Variants("a pod that was relabelled stays after its Job was deleted", variants, func(v variant) (string, bool, bool) {
		return v.name, v.shows, v.stays(client, restart)
	})
}

// stays creates a Job, changes its pod, deletes the Job, and reports whether one of the two stays. Then it restarts the controller, and removes the pod's finalizer.
func (v variant) stays(client kubernetes.Interface, restart func()) bool {
	pod := v.create(client)
	if !v.kept {
		rig.Patch(client.CoreV1().Pods(space), pod, `{"metadata":{"labels":{"`+batchv1.ControllerUidLabel+`":null}}}`)
	}
	time.Sleep(v.after)
	v.remove(client, v.policy)
	if v.again {
		time.Sleep(3 * later)
		v.remove(client, metav1.DeletePropagationBackground)
	}
	gone := v.goes(client, pod, "the deletion")
	observed.Done()
	if gone {
		return false
	}
	restart()
	if !v.goes(client, pod, "a restart of the Job controller") {
		rig.Patch(client.CoreV1().Pods(space), pod, `{"metadata":{"finalizers":null}}`)
		v.goes(client, pod, "the removal of the finalizer by hand")
	}
	return true
}

func (v variant) remove(client kubernetes.Interface, policy metav1.DeletionPropagation) {
	rig.Found(client.BatchV1().Jobs(space).Delete(ctx, v.name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// create creates a Job and waits until its only pod runs.
func (v variant) create(client kubernetes.Interface) (name string) {
	rig.Create(client.BatchV1().Jobs(space), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: v.name}, Spec: jobs.Spec(1, 4)})
	rig.Until(func() bool {
		pods := rig.List(client.CoreV1().Pods(space), batchv1.JobNameLabel+"="+v.name)
		if len(pods.Items) == 0 || pods.Items[0].Status.Phase != corev1.PodRunning {
			return false
		}
		name = pods.Items[0].Name
		return true
	})
	time.Sleep(later) // until the controller is idle
	return name
}

// goes waits until a Job is gone and its pod is gone or released, prints how long that took, and returns whether it came to that.
func (v variant) goes(client kubernetes.Interface, pod, since string) bool {
	left := ""
	took, done := rig.Wait(50*time.Millisecond, patient, func() bool {
		j, err := client.BatchV1().Jobs(space).Get(ctx, v.name, metav1.GetOptions{})
		p, podErr := client.CoreV1().Pods(space).Get(ctx, pod, metav1.GetOptions{})
		jobGone, podGone := !rig.Found(err), !rig.Found(podErr)
		left = fmt.Sprintf("the Job is %s, and its pod is %s", state(j, jobGone, "there"), state(p, podGone, p.Status.Phase))
		return jobGone && (podGone || p.OwnerReferences == nil && p.Finalizers == nil)
	})
	fmt.Printf("%s: %v after %s, %s\n", v.name, took.Round(100*time.Millisecond), since, left)
	return done
}

// state describes an object.
func state(o metav1.Object, gone bool, phase corev1.PodPhase) string {
	switch {
	case gone:
		return "gone"
	case o.GetDeletionTimestamp() == nil:
		return fmt.Sprintf("%s, with %d owners", phase, len(o.GetOwnerReferences()))
	}
	return fmt.Sprintf("%s and terminating, with finalizers %v", phase, o.GetFinalizers())
}
