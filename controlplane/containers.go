package controlplane

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Workload says how long containers and the storage take, and what befalls containers.
type Workload struct {
	// Start is the longest time until a pod is ready, End the longest until its containers end
	// when it is deleted.
	Start, End time.Duration
	// Work is the longest time that a pod works whose restart policy lets it finish.
	Work time.Duration
	// FailOneIn makes one in so many of these pods fail; 0 none. Those that are restarted then fail until Healthy only.
	FailOneIn int
	// UnreadyOneIn makes one in so many pods fail their readiness probe and recover, again and again, and a quarter as many not ready at
	// all, and EvictOneIn has the kubelet evict one in so many, as it does when memory is short; 0 none. Both until Healthy.
	UnreadyOneIn, EvictOneIn int
	// CrashOneIn makes the containers of one in so many pods crash once, if the kubelet always restarts them; 0 none. Until Healthy.
	CrashOneIn int
	// Storage is the longest time that the storage takes to provision or delete a volume; a second at most after Healthy.
	Storage time.Duration
	// Extender is the longest time that the extender of schedulers takes to answer; a tenth of a second at most after Healthy.
	Extender time.Duration
	Healthy  time.Time
}

// oneIn draws whether something happens that happens to one in so many; 0 is never.
func oneIn(many int) bool { return many > 0 && rand.IntN(many) == 0 }

// The exit codes of processes that were ended by SIGKILL or SIGTERM: 128 plus the number of the signal.
const (
	killed     = 137
	terminated = 143
)

// maxProbe is the longest time between two changes of a readiness probe that fails again and again.
const maxProbe = 20 * time.Second

// maxEviction is the longest time after which the kubelet evicts a pod. Most jobs take less.
const maxEviction = 20 * time.Second

// Node is the machine of a kubelet, with its containers.
type Node struct {
	name     string
	workload *Workload

	mu   sync.Mutex
	pods map[types.UID]*containers
	ran  []*containers // all that ever started, in order
	// off is closed when power returns, nil while there is power; cut stops the kubelet when power fails.
	off chan struct{}
	cut context.CancelFunc
}

// NewNode returns a node without containers. They take as long as workload says when they start or end.
func NewNode(name string, workload *Workload) *Node {
	return &Node{name: name, workload: workload, pods: map[types.UID]*containers{}}
}

// containers are the containers of a pod, from their start to their end.
type containers struct {
	pod               types.NamespacedName
	uid               types.UID
	kind, node        string // kind is that of the controller
	began             time.Time
	ready, ends, gone time.Time // ends is zero for pods that run until deleted; gone is zero until then
	exit              int32     // the code with which they end by themselves
	evicted           bool      // by the kubelet: that is why they end
	lost              bool      // when the node lost power
	restarts          int32     // after failures
	probed            time.Time // when the readiness probe next has another result; zero for never
	changes           int       // of its result, which is a success at first
	crashes           time.Time // when they crash; zero for never
}

// over reports when the containers end or have ended; false if that is not decided.
func (c *containers) over() (at time.Time, is bool) {
	if !c.gone.IsZero() && (c.ends.IsZero() || c.gone.Before(c.ends)) {
		return c.gone, true
	}
	return c.ends, !c.ends.IsZero()
}

// of returns the containers of a pod, and starts them if there are none; nil without power, which a kubelet may notice late.
func (n *Node) of(pod *corev1.Pod) *containers {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.off != nil {
		return nil
	}
	c := n.pods[pod.UID]
	if before := c; before == nil || before.lost && pod.DeletionTimestamp == nil {
		c = &containers{
			pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, uid: pod.UID, kind: ownerKind(pod), node: n.name, began: time.Now(),
		}
		n.ran = append(n.ran, c)
		n.pods[pod.UID] = c
		n.begin(c, pod.Spec.RestartPolicy)
		switch {
		case before == nil:
			n.draw(c, pod.Spec.RestartPolicy)
		case pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
			c.ends, c.exit = time.Now(), killed
		default:
			c.restarts = before.restarts + 1
		}
	}
	// The kubelet restarts what fails.
	if pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && c.exit > 0 && !c.evicted && c.gone.IsZero() && !time.Now().Before(c.ends) {
		c.restarts++
		n.begin(c, pod.Spec.RestartPolicy)
	}
	if !c.crashes.IsZero() && c.gone.IsZero() && !time.Now().Before(c.crashes) {
		c.crashes = time.Time{}
		c.restarts++
		n.begin(c, pod.Spec.RestartPolicy)
	}
	if pod.DeletionTimestamp != nil && c.gone.IsZero() {
		c.gone = time.Now().Add(min(upTo(n.workload.End), time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 30))*time.Second))
		if c.ends.IsZero() || c.gone.Before(c.ends) {
			c.exit, c.evicted = []int32{0, terminated}[rand.IntN(2)], false
		}
	}
	return c
}

// has reports whether the containers of a pod have begun.
func (n *Node) has(pod *corev1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pods[pod.UID] != nil
}

// begin draws how long containers take from now on.
func (n *Node) begin(c *containers, policy corev1.RestartPolicy) {
	c.ready = time.Now().Add(upTo(n.workload.Start))
	if time.Now().Before(n.workload.Healthy) && oneIn(4*n.workload.UnreadyOneIn) {
		c.ready = n.workload.Healthy // as if they waited for something that is down
	}
	if policy != corev1.RestartPolicyAlways {
		c.ends, c.exit = c.ready.Add(upTo(n.workload.Work)), 0
		// One that is restarted whenever it fails might fail for ever.
		if oneIn(n.workload.FailOneIn) && (policy == corev1.RestartPolicyNever || time.Now().Before(n.workload.Healthy)) {
			c.exit = 1 + rand.Int32N(2)
		}
	}
}

// draw draws what befalls containers.
func (n *Node) draw(c *containers, policy corev1.RestartPolicy) {
	if oneIn(n.workload.UnreadyOneIn) {
		c.probed = c.ready.Add(upTo(maxProbe))
	}
	at := c.began.Add(upTo(maxEviction))
	if oneIn(n.workload.EvictOneIn) && at.Before(n.workload.Healthy) && (c.ends.IsZero() || at.Before(c.ends)) {
		c.ends, c.exit, c.evicted = at, killed, true
	}
	if policy == corev1.RestartPolicyAlways && oneIn(n.workload.CrashOneIn) {
		if at := c.ready.Add(upTo(maxEviction)); at.Before(n.workload.Healthy) && c.ends.IsZero() {
			c.crashes = at
		}
	}
}

// probe returns whether the readiness probe of containers that have started succeeds, and when its result changes; zero for never.
func (n *Node) probe(c *containers) (ready bool, changes time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	healthy := n.workload.Healthy
	if c.probed.IsZero() || !time.Now().Before(healthy) {
		return true, time.Time{}
	}
	for !c.probed.After(time.Now()) {
		c.changes, c.probed = c.changes+1, c.probed.Add(upTo(maxProbe))
	}
	if changes = c.probed; changes.After(healthy) {
		changes = healthy
	}
	return c.changes%2 == 0, changes
}

// end ends the containers of all pods of a name except the living one, unless they are ending
// already.
func (n *Node) end(name types.NamespacedName, living types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.ran {
		if _, over := c.over(); c.pod == name && c.uid != living && !over {
			c.gone = time.Now().Add(upTo(n.workload.End))
		}
	}
}

// befell reports whether something has befallen any containers so far.
func (p *Plane) befell(what func(*containers) bool) bool {
	return slices.ContainsFunc(p.nodes, func(n *Node) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return slices.ContainsFunc(n.ran, what)
	})
}
