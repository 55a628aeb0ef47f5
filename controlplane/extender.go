package controlplane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// extenderName is the name of the program that extends schedulers and of its host, and extenderPort is where it listens.
const (
	extenderName = "extender"
	extenderPort = 8888
)

// closed is the label of nodes to which the extender lets no pod, unless it is told nothing but their names.
const closed = "example.com/closed"

// settableExtender are fields of a scheduler's extender: what it is asked, and how.
var settableExtender = []string{
	"filterVerb: filter", "prioritizeVerb: prioritize, weight: 1", "preemptVerb: preempt", "bindVerb: bind", "nodeCacheCapable: true", "ignorable: true", "httpTimeout: 1s",
}

// extenderLine returns the line of a KubeSchedulerConfiguration with an extender of the given fields.
func extenderLine(fields []string) string {
	return fmt.Sprintf("extenders: [{urlPrefix: \"http://%s:%d\", %s}]", extenderName, extenderPort, strings.Join(fields, ", "))
}

// Extender is a program for simtest that extends schedulers (kubernetes.io/docs/concepts/extend-kubernetes: scheduler extensions): they ask it which nodes a
// pod may go to, which are best and whom to preempt, and it binds pods. It takes a while, and fails now and then.
func (p *Plane) Extender(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return serve(ctx, extenderPort, &http.Server{Handler: (&extender{client, p}).handler()})
}

type extender struct {
	client kubernetes.Interface
	plane  *Plane
}

// handler serves what schedulers ask.
func (e *extender) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/filter", answer(e.filter))
	mux.HandleFunc("/prioritize", answer(e.prioritize))
	mux.HandleFunc("/preempt", answer(e.preempt))
	mux.HandleFunc("/bind", answer(e.bind))
	return mux
}

// work takes a while, and fails now and then until everything is healthy.
func (e *extender) work() error {
	e.plane.note((*Plane).Extender)
	workload := &e.plane.Workload
	most, healthy := workload.Extender, time.Now().After(workload.Healthy)
	if healthy {
		most = min(most, 100*time.Millisecond)
	}
	time.Sleep(upTo(most))
	if !healthy && oneIn(20) {
		return errors.New("the extender is busy")
	}
	return nil
}

// filter rejects nodes that are closed.
func (e *extender) filter(_ context.Context, asked *extenderv1.ExtenderArgs) (*extenderv1.ExtenderFilterResult, error) {
	result := &extenderv1.ExtenderFilterResult{NodeNames: asked.NodeNames, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{}}
	if asked.Nodes != nil {
		result.Nodes = &corev1.NodeList{}
		for _, node := range asked.Nodes.Items {
			if node.Labels[closed] != "" {
				result.FailedAndUnresolvableNodes[node.Name] = "the node is closed"
			} else {
				result.Nodes.Items = append(result.Nodes.Items, node)
			}
		}
	}
	return result, e.work()
}

// prioritize gives each node a random score.
func (e *extender) prioritize(_ context.Context, asked *extenderv1.ExtenderArgs) (*extenderv1.HostPriorityList, error) {
	var names []string
	if asked.NodeNames != nil {
		names = *asked.NodeNames
	} else {
		for _, node := range asked.Nodes.Items {
			names = append(names, node.Name)
		}
	}
	scores := extenderv1.HostPriorityList{}
	for _, name := range names {
		scores = append(scores, extenderv1.HostPriority{Host: name, Score: rand.Int64N(extenderv1.MaxExtenderPriority + 1)})
	}
	return &scores, e.work()
}

// preempt accepts all victims.
func (e *extender) preempt(_ context.Context, asked *extenderv1.ExtenderPreemptionArgs) (*extenderv1.ExtenderPreemptionResult, error) {
	result := &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: asked.NodeNameToMetaVictims}
	if result.NodeNameToMetaVictims == nil {
		result.NodeNameToMetaVictims = map[string]*extenderv1.MetaVictims{}
	}
	for node, victims := range asked.NodeNameToVictims {
		accepted := &extenderv1.MetaVictims{NumPDBViolations: victims.NumPDBViolations}
		for _, pod := range victims.Pods {
			accepted.Pods = append(accepted.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
		}
		result.NodeNameToMetaVictims[node] = accepted
	}
	return result, e.work()
}

// bind binds a pod.
func (e *extender) bind(ctx context.Context, asked *extenderv1.ExtenderBindingArgs) (*extenderv1.ExtenderBindingResult, error) {
	err := e.work()
	if err == nil {
		err = e.client.CoreV1().Pods(asked.PodNamespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: asked.PodNamespace, Name: asked.PodName, UID: asked.PodUID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: asked.Node},
		}, metav1.CreateOptions{})
	}
	return &extenderv1.ExtenderBindingResult{}, err
}
