// Finding 65: an EndpointSlice that a finalizer keeps is deleted. The controller leaves it out, but its tracker goes on to expect it, so that every sync of the
// Service ends with a cache that is out of date: no slice replaces this one, and none is updated.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/endpointslice"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	service   = "a"
	finalizer = "example.com/release"
	// patient is how long the slices may take to be those of the pods; without the bug, that takes little more than a second.
	patient = 20 * time.Second
)

var ctx = context.Background()

// variant is how the slice of a Service is deleted, and what helps.
type variant struct {
	space  string // has the Service, its pods, and a controller of its own
	kept   bool   // by a finalizer
	policy metav1.DeletionPropagation
	// restarted is when the controller is: "before" or "after" the deletion, or at the "end" in place of the removal of the finalizer.
	restarted string
	shows     bool
}

var variants = []variant{
	{space: "without-finalizer", policy: metav1.DeletePropagationBackground},
	{space: "in-the-foreground", policy: metav1.DeletePropagationForeground},
	{space: "restarted-before", kept: true, policy: metav1.DeletePropagationBackground, restarted: "before"},
	{space: "restarted-after", kept: true, policy: metav1.DeletePropagationBackground, restarted: "after"},
	{space: "kept", kept: true, policy: metav1.DeletePropagationBackground, shows: true},
	{space: "kept-until-restart", kept: true, policy: metav1.DeletePropagationBackground, restarted: "end", shows: true},
}

func main() {
	config, client := api.Start()
	rig.Create(client.CoreV1().Nodes(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	collector.Over(config)
	rig.Variants("a slice that is being deleted keeps its Service from being updated", variants, func(v variant) (string, bool, bool) {
		return v.space, v.shows, v.stuck(client)
	})
}

// control runs the controller for one namespace, until stop is called.
func control(client kubernetes.Interface, space string) (stop func()) {
	life, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	api.Control(life, client, space, 1, func(_ context.Context, _ kubernetes.Interface, factory informers.SharedInformerFactory) func(context.Context, int) {
		core := factory.Core().V1()
		controller := endpointslice.NewController(life, core.Pods(), core.Services(), core.Nodes(), factory.Discovery().V1().EndpointSlices(), 100, client, 0)
		return func(ctx context.Context, workers int) { defer close(ended); controller.Run(ctx, workers) }
	})
	return func() { cancel(); <-ended }
}

// stuck deletes the slice of a Service, replaces one of two pods, and reports whether the slices that stay are not those of the pods. Then it tries what may help.
func (v variant) stuck(client kubernetes.Interface) bool {
	api.Namespace(client, v.space)
	stop := control(client, v.space)
	v.run(client, 0)
	v.run(client, 1)
	labels := map[string]string{"app": service}
	rig.Create(client.CoreV1().Services(v.space), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: service}, Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Port: 80}},
	}})
	rig.Await(time.Millisecond, 10*time.Second, v.space+": the Service has no slice of its pods", func() bool { return v.live(client) == "[a-0 a-1]" })

	restart := func(when string) {
		if v.restarted == when {
			stop()
			stop = control(client, v.space)
		}
	}
	all := client.DiscoveryV1().EndpointSlices(v.space)
	name := v.slices(client)[0].Name
	if v.kept {
		rig.Patch(all, name, `{"metadata":{"finalizers":["`+finalizer+`"]}}`)
	}
	restart("before")
	rig.Delete(all, name, metav1.DeleteOptions{PropagationPolicy: &v.policy})
	restart("after")
	rig.Delete(client.CoreV1().Pods(v.space), "a-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	v.run(client, 2)
	if v.follows(client, "the pod was replaced") {
		return false
	}
	if v.restarted == "end" {
		restart("end")
		v.follows(client, "the restart")
		return true
	}
	rig.Patch(all, name, `{"metadata":{"finalizers":null}}`)
	v.follows(client, "the finalizer was removed")
	return true
}

// run creates a pod that is ready, as a kubelet reports it.
func (v variant) run(client kubernetes.Interface, ordinal int) {
	pods := client.CoreV1().Pods(v.space)
	pod := rig.Create(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a-", ordinal), Labels: map[string]string{"app": service}}, Spec: corev1.PodSpec{
		NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "image"}},
	}})
	address := fmt.Sprint("10.1.0.", ordinal+1)
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
	}
	rig.UpdateStatus(pods, pod)
}

// follows waits until the slices that stay are those of the pods, prints how long that took and what there is, and returns whether it came to that.
func (v variant) follows(client kubernetes.Interface, since string) bool {
	took, met := rig.Wait(20*time.Millisecond, patient, func() bool { return v.live(client) == "[a-1 a-2]" })
	var found []string
	for _, slice := range v.slices(client) {
		description := fmt.Sprint("one of ", podsOf(slice))
		if slice.DeletionTimestamp != nil {
			description += fmt.Sprint(", which is being deleted and has ", slice.Finalizers)
		}
		found = append(found, description)
	}
	fmt.Printf("%s: %v after %s, the slices are %s\n", v.space, took.Round(100*time.Millisecond), since, strings.Join(found, "; "))
	return met
}

// live returns the pods in the slices that are not being deleted.
func (v variant) live(client kubernetes.Interface) string {
	var pods []string
	for _, slice := range v.slices(client) {
		if slice.DeletionTimestamp == nil {
			pods = append(pods, podsOf(slice)...)
		}
	}
	slices.Sort(pods)
	return fmt.Sprint(pods)
}

func (v variant) slices(client kubernetes.Interface) []discoveryv1.EndpointSlice {
	return rig.List(client.DiscoveryV1().EndpointSlices(v.space), discoveryv1.LabelServiceName+"="+service).Items
}

func podsOf(slice discoveryv1.EndpointSlice) (pods []string) {
	for _, endpoint := range slice.Endpoints {
		pods = append(pods, endpoint.TargetRef.Name)
	}
	slices.Sort(pods)
	return pods
}
