package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/watchsim/watchsim/simtest"
)

// maxOff is longer than it takes to detect that a node is off and to evict its pods.
const maxOff = 2 * time.Minute

// Administer starts to act as administrators do, until a deadline: nodes lose power, are drained,
// labelled, tainted and replaced, and leaders are killed or stopped, if usage has these groups. In half of the runs, some nodes then have no power while everything else
// is calm, until the rest has converged, and up to [maxOff] longer. In the end it restores all nodes, and closes the channel when they accept pods.
func (p *Plane) Administer(c *simtest.Cluster, usage Usage, until time.Time) (done <-chan struct{}) {
	a := &administrator{plane: p, cluster: c, client: c.Client(), untyped: dynamic.NewForConfigOrDie(c.Config()), until: until}
	var actions []func(*administrator, context.Context) error
	for _, group := range usage.Groups {
		actions = append(actions, administratorActions[group]...)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for len(actions) > 0 && time.Now().Before(until) {
			time.Sleep(upTo(10 * time.Second))
			act := actions[rand.IntN(len(actions))]
			if act(a, context.Background()) == nil { // failed actions are not counted
				p.note(act)
			}
		}
		if slices.Contains(usage.Groups, Nodes) && rand.IntN(2) == 0 {
			a.outage(context.Background(), usage)
		}
		for a.restore(context.Background()) != nil {
			time.Sleep(time.Second)
		}
	}()
	return ended
}

// outage keeps some nodes off, but not all unless there is one, while users go on and nodes are labelled, until everything else has converged and for a
// while longer. If that takes too long, it is overdue.
func (a *administrator) outage(ctx context.Context, usage Usage) {
	for _, i := range rand.Perm(len(a.plane.nodes))[:1+rand.IntN(max(1, len(a.plane.nodes)-1))] {
		a.plane.nodes[i].switchOff()
	}
	end := time.Now().Add(time.Minute) // a node that is off is noticed after 40 s
	a.cluster.Go("user-outage", a.plane.User(usage, end))
	for time.Now().Before(end) {
		_ = a.label(ctx) // fails for a node that is gone
		time.Sleep(upTo(5 * time.Second))
	}
	for began := a.cluster.Now(); ; time.Sleep(5 * time.Second) {
		err := SettledElsewhere(ctx, a.client, a.untyped)
		if err == nil {
			break
		}
		if late := Late(err, a.cluster.Now()-began, 0); late != nil {
			a.plane.SetOverdue(fmt.Errorf("while nodes are off: %w", late))
			break
		}
	}
	time.Sleep(upTo(maxOff))
}

type administrator struct {
	plane   *Plane
	cluster *simtest.Cluster
	client  kubernetes.Interface
	untyped dynamic.Interface
	until   time.Time // after which nothing is wrong
}

// administratorActions are those of each group.
var administratorActions = map[Group][]func(*administrator, context.Context) error{
	Nodes:   {(*administrator).switchOff, (*administrator).drain, (*administrator).label, (*administrator).taint, (*administrator).close, (*administrator).replace},
	Leaders: {(*administrator).killLeader, (*administrator).stopLeader},
}

func (a *administrator) node() *Node { return a.plane.nodes[rand.IntN(len(a.plane.nodes))] }

// switchOff cuts the power of a node for a while.
func (a *administrator) switchOff(context.Context) error {
	time.AfterFunc(upTo(maxOff), a.node().switchOff())
	return nil
}

// replace cuts the power of a node, deletes its object, and restores power once no pod is bound to it any
// more: to delete a node means that nothing runs there, and its pods are deleted without waiting for the kubelet.
func (a *administrator) replace(ctx context.Context) error {
	node := a.node()
	defer node.switchOff()()
	// A deletion that failed may have been carried out all the same.
	for {
		err := a.client.CoreV1().Nodes().Delete(ctx, node.name, metav1.DeleteOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			break
		}
		time.Sleep(time.Second)
	}
	for began := time.Now(); ; time.Sleep(5 * time.Second) {
		pods, err := a.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.name})
		if err != nil {
			continue
		}
		if len(pods.Items) == 0 {
			return nil
		}
		if s, err := read(ctx, a.client); err != nil || time.Now().After(a.until) && s.byHand(ctx, a.client) != nil {
			continue
		}
		err = first(promise{soon, func() error {
			return wrongf(&pods.Items[0], "pod %s, with the finalizers %v, stays on %s, which has been removed", describe(&pods.Items[0]), pods.Items[0].Finalizers, node.name)
		}})
		if late := Late(err, min(time.Since(began), time.Since(a.until)), 0); late != nil {
			a.plane.SetOverdue(late)
			return late
		}
	}
}

// patch changes a node.
func (a *administrator) patch(ctx context.Context, node, patch string) error {
	_, err := a.client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// drain cordons a node and evicts its pods, as far as their budgets allow.
func (a *administrator) drain(ctx context.Context) error {
	node := a.node()
	if err := a.patch(ctx, node.name, `{"spec":{"unschedulable":true}}`); err != nil {
		return err
	}
	pods, err := a.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.name})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
		if err := a.client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction); err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	time.Sleep(upTo(20 * time.Second))
	return a.patch(ctx, node.name, uncordon)
}

const uncordon = `{"spec":{"unschedulable":null}}`

// label adds or removes the label that daemon sets select.
func (a *administrator) label(ctx context.Context) error {
	return a.patch(ctx, a.node().name, fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, label, []string{`"fast"`, "null"}[rand.IntN(2)]))
}

// maintenance is the key of a taint that administrators use.
const maintenance = "maintenance"

// taint keeps new pods away from a node for a while, or also evicts those that do not tolerate it for so long.
func (a *administrator) taint(ctx context.Context) error {
	effect := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}[rand.IntN(2)]
	return a.forAWhile(ctx, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: maintenance, Effect: effect})
	}, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == maintenance })
	})
}

// close makes the extender of schedulers keep new pods away from a node for a while, if there is one.
func (a *administrator) close(ctx context.Context) error {
	return a.forAWhile(ctx, func(n *corev1.Node) { metav1.SetMetaDataLabel(&n.ObjectMeta, closed, "yes") }, func(n *corev1.Node) { delete(n.Labels, closed) })
}

// forAWhile changes a node, and later changes it back.
func (a *administrator) forAWhile(ctx context.Context, change, undo func(*corev1.Node)) error {
	nodes, node := a.client.CoreV1().Nodes(), a.node().name
	err := update(ctx, nodes, node, change)
	time.Sleep(upTo(20 * time.Second))
	// A change that failed may have been made all the same.
	for undone := update(ctx, nodes, node, undo); undone != nil && !apierrors.IsNotFound(undone); undone = update(ctx, nodes, node, undo) {
		time.Sleep(time.Second)
	}
	return err
}

// killLeader kills the leading manager or scheduler, and restarts it within half a minute.
func (a *administrator) killLeader(ctx context.Context) error {
	return a.restartLeader(ctx, a.cluster.CrashProgram)
}

// stopLeader does the same with SIGTERM.
func (a *administrator) stopLeader(ctx context.Context) error {
	return a.restartLeader(ctx, a.cluster.StopProgram)
}

func (a *administrator) restartLeader(ctx context.Context, end func(program string) error) error {
	lease, err := a.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, []string{"kube-controller-manager", "kube-scheduler"}[rand.IntN(2)], metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return err
	}
	leader, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	if err := end(leader); err != nil {
		return err
	}
	time.Sleep(upTo(simtest.GracePeriod + 15*time.Second)) // it may be killed by then
	return a.cluster.StartProgram(leader)
}

// restore makes all nodes accept pods again, and returns nil once they do.
func (a *administrator) restore(ctx context.Context) error {
	for _, node := range a.plane.nodes {
		node.switchOn()
	}
	nodes, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if node.Spec.Unschedulable {
			if err := a.patch(ctx, node.Name, uncordon); err != nil {
				return err
			}
		}
	}
	if missing := len(a.plane.nodes) - len(nodes.Items); missing > 0 {
		return fmt.Errorf("%d nodes have not registered again", missing)
	}
	return nil
}
