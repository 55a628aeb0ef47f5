// Finding 67: a Job is deleted, its pods are orphaned, and a ReplicaSet adopts some of them before the Job controller has removed their finalizer. If that controller is
// restarted then, it leaves the finalizer alone, as it takes it for that of the pods' new controller. Such pods can never be removed.
package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space = "red"
	// grace is that of the pods, in seconds, and patient is how long their removal may take. The controllers have little else to do.
	grace, patient = 1, 10 * time.Second
	// idle is how long the controllers take until nothing is left to do, and their clients may send a burst again.
	idle = 4 * time.Second
)

var ctx = context.Background()

// variant is a Job that is deleted, and which kind adopts its pods. The adopter is created at one of these times.
type variant struct {
	name    string
	pods    int32
	adopter string
	when    moment
	shows   bool
}

type moment int

const (
	// A ReplicaSet that exists before the Job is deleted has a pod of its own, and deletes those that it adopts.
	before moment = iota
	// between is while no controller manager runs.
	between
	// after is when the finalizers are gone, as nobody was faster than the Job controller.
	after
)

var variants = []variant{
	{name: "not-adopted", pods: 40},
	{name: "adopted-by-a-job", pods: 10, adopter: "Job", when: between},
	{name: "adopted-later", pods: 10, adopter: "ReplicaSet", when: after},
	{name: "adopted-before-the-restart", pods: 40, adopter: "ReplicaSet", when: before, shows: true},
	{name: "adopted-after-the-restart", pods: 40, adopter: "ReplicaSet", when: between, shows: true},
}

// client is that of the users, and config is how it connects.
var (
	client kubernetes.Interface
	config *rest.Config
)

func main() {
	config, client = api.Start(space)
	go jobs.Kubelet(client, corev1.PodFailed)
	stop := manage()
	each(variant.create)
	each(func(v variant) { v.adopt(before) })
	time.Sleep(idle)

	orphan := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}
	each(func(v variant) { rig.Delete(client.BatchV1().Jobs(space), v.name, orphan) })
	rig.Until(func() bool { return len(rig.List(client.BatchV1().Jobs(space), "").Items) == 0 })
	stop()
	each(func(v variant) {
		fmt.Printf("%s: when the manager is stopped, %s\n", v.name, describe(v.list()))
		v.adopt(between)
	})
	stop = manage()
	time.Sleep(idle)
	each(func(v variant) { v.adopt(after) })
	time.Sleep(idle)

	var observed sync.WaitGroup
	observed.Add(len(variants))
	restart := sync.OnceFunc(func() {
		observed.Wait()
		stop()
		manage()
	})
	rig.Variants("pods of a deleted Job that a ReplicaSet has adopted are not removed", variants, func(v variant) (string, bool, bool) {
		for _, pod := range v.list() {
			_ = client.CoreV1().Pods(space).Delete(ctx, pod.Name, metav1.DeleteOptions{}) // unless its ReplicaSet was faster
		}
		gone := v.gone("their deletion")
		observed.Done()
		if gone {
			return v.name, v.shows, false
		}
		restart()
		for _, pod := range v.list() {
			rig.Patch(client.CoreV1().Pods(space), pod.Name, `{"metadata":{"annotations":{"changed":"yes"}}}`)
		}
		if !v.gone("another restart and a change of all pods") {
			rig.Delete(client.AppsV1().ReplicaSets(space), v.name, orphan)
			v.gone("the ReplicaSet was deleted and orphaned them")
		}
		return v.name, v.shows, true
	})
}

func each(f func(v variant)) {
	for _, v := range variants {
		f(v)
	}
}

// manage runs those controllers of a kube-controller-manager that matter, until they are stopped. Their clients have the limits that they have by default.
func manage() (stop func()) {
	running, cancel := context.WithCancel(ctx)
	limited := rest.CopyConfig(config)
	limited.QPS, limited.Burst = 20, 30
	api.Control(running, kubernetes.NewForConfigOrDie(limited), "", 5, api.ReplicaSets)
	api.Control(running, kubernetes.NewForConfigOrDie(limited), "", 5, api.Jobs)
	limited.QPS, limited.Burst = 40, 60
	stopCollector := collector.Over(limited)
	return func() { cancel(); stopCollector() }
}

// create creates a Job, and waits until its pods run.
func (v variant) create() {
	spec := jobs.Spec(v.pods, grace)
	spec.Template.Labels = map[string]string{"app": v.name}
	rig.Create(client.BatchV1().Jobs(space), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: v.name}, Spec: spec})
	rig.Until(func() bool {
		pods := v.list()
		return len(pods) == int(v.pods) && pods[v.pods-1].Status.Phase == corev1.PodRunning
	})
}

// adopt creates who adopts the pods, if it is time to.
func (v variant) adopt(now moment) {
	if now != v.when {
		return
	}
	meta, labels := metav1.ObjectMeta{Name: v.name}, map[string]string{"app": v.name}
	spec, selector := jobs.Spec(v.pods, grace), &metav1.LabelSelector{MatchLabels: labels}
	spec.Template.Labels = labels
	switch v.adopter {
	case "Job":
		spec.Selector, spec.ManualSelector = selector, new(true)
		rig.Create(client.BatchV1().Jobs(space), &batchv1.Job{ObjectMeta: meta, Spec: spec})
	case "ReplicaSet":
		switch now {
		case before:
			v.pods = 1
		case after:
			rig.Until(func() bool {
				return !slices.ContainsFunc(v.list(), func(pod corev1.Pod) bool { return pod.Finalizers != nil })
			})
		}
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
		set := appsv1.ReplicaSetSpec{Replicas: &v.pods, Selector: selector, Template: spec.Template}
		rig.Create(client.AppsV1().ReplicaSets(space), &appsv1.ReplicaSet{ObjectMeta: meta, Spec: set})
	}
}

// list returns those pods of the deleted Job that are there. They keep its labels.
func (v variant) list() []corev1.Pod {
	return rig.List(client.CoreV1().Pods(space), batchv1.JobNameLabel+"="+v.name).Items
}

// gone waits until the pods are gone, prints how long that took or what is left, and returns whether it came to that.
func (v variant) gone(since string) bool {
	took, gone := rig.Wait(50*time.Millisecond, patient, func() bool { return len(v.list()) == 0 })
	fmt.Printf("%s: %v after %s, %s\n", v.name, took.Round(100*time.Millisecond), since, describe(v.list()))
	return gone
}

// describe says how many pods there are, and what keeps them.
func describe(pods []corev1.Pod) string {
	if len(pods) == 0 {
		return "its pods are gone"
	}
	kept, adopted, terminating := 0, 0, 0
	for _, pod := range pods {
		if pod.Finalizers != nil {
			kept++
			if pod.OwnerReferences != nil {
				adopted++
			}
		}
		if pod.DeletionTimestamp != nil {
			terminating++
		}
	}
	return fmt.Sprintf("%d pods are there, %d of them terminating; %d have the finalizer, of which %d have an owner", len(pods), terminating, kept, adopted)
}
