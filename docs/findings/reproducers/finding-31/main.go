// Finding 31: a preempting pod stays pending for minutes although a node is free, if the binding of its victim was in progress
// and failed.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space, low, high = "red", "low", "high"
	rounds           = 3
	// settled is longer than the scheduler takes to react, and patience than it takes to schedule a pod that fits. It flushes unschedulable
	// pods after five minutes.
	settled, patience = time.Second, 20 * time.Second
)

// forbidden is the error of an API server in a terminating namespace.
var forbidden = apierrors.NewForbidden(corev1.Resource("pods/binding"), low, fmt.Errorf("namespace %s is being terminated", space))

func main() {
	fmt.Printf("the victim's binding succeeds: the preemptor is pending for more than %v in %d of %d rounds\n", patience, pending(nil), rounds)
	rig.Verdict(pending(forbidden), rounds, fmt.Sprintf(
		"the victim's binding fails, and the preemptor is pending for more than %v, although its node is free,", patience))
}

// pending counts the rounds in which the preemptor is not scheduled. The victim's binding returns the given error.
func pending(binding error) int {
	return rig.Count(rounds, func(int) bool { return !isPlaced(binding) })
}

// isPlaced makes the scheduler bind a pod that fills the only node, meanwhile creates a pod of a higher priority, and reports whether that is scheduled. The
// binding returns while the scheduler is about to delete the first pod.
func isPlaced(binding error) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &client{Clientset: fake.NewClientset(api.Node("node")), binding: binding, asked: make(chan struct{}), end: make(chan struct{}), placed: make(chan struct{})}
	api.Schedule(ctx, c, informers.NewSharedInformerFactory(c, 0))
	rig.Create(c.CoreV1().Pods(space), pod(low, 0))
	<-c.asked
	rig.Create(c.CoreV1().Pods(space), pod(high, 1))
	select {
	case <-c.placed:
		return true
	case <-time.After(patience):
		return false
	}
}

// client delays the binding of the first pod until that pod is deleted.
type client struct {
	*fake.Clientset
	binding            error // its error
	asked, end, placed chan struct{}
	once               sync.Once
}

func (c *client) CoreV1() typed.CoreV1Interface { return core{c.Clientset.CoreV1(), c} }

type core struct {
	typed.CoreV1Interface
	client *client
}

func (c core) Pods(namespace string) typed.PodInterface {
	return pods{c.CoreV1Interface.Pods(namespace), c.client}
}

type pods struct {
	typed.PodInterface
	client *client
}

func (p pods) Bind(_ context.Context, to *corev1.Binding, _ metav1.CreateOptions) error {
	if to.Name == high {
		close(p.client.placed)
		return nil
	}
	close(p.client.asked)
	<-p.client.end
	if p.client.binding == nil {
		p.client.bind(to)
	}
	return p.client.binding
}

func (p pods) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	p.client.once.Do(func() {
		close(p.client.end)
		time.Sleep(settled)
	})
	return p.PodInterface.Delete(ctx, name, options)
}

// bind applies a binding as an API server does.
func (c *client) bind(to *corev1.Binding) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	bound := rig.Value(c.Tracker().Get(pods, space, to.Name)).(*corev1.Pod).DeepCopy()
	bound.Spec.NodeName = to.Target.Name
	rig.Must(c.Tracker().Update(pods, bound, space))
}

// pod returns a pod that fills the node.
func pod(name string, priority int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Priority: new(priority), Containers: []corev1.Container{{
			Name: "c", Image: "image", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}
