package controlplane

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// surroundings are the objects that a decision about an object depends on: itself, its owners, dependents of it or of the same
// controller, and its node with the pods there.
type surroundings struct {
	uids   map[types.UID]bool
	owners map[types.UID]types.UID // the controllers of pods
	node   string
}

// around returns the surroundings of an object in one or two states, one of which may be nil.
func (s *store) around(states ...metav1.Object) surroundings {
	a := surroundings{uids: map[types.UID]bool{}, owners: s.owners}
	for _, o := range states {
		if o == nil {
			continue
		}
		a.uids[o.GetUID()] = true
		for _, owner := range o.GetOwnerReferences() {
			a.uids[owner.UID] = true
		}
		if pod, is := o.(*corev1.Pod); is && pod.Spec.NodeName != "" {
			a.node = pod.Spec.NodeName
		}
	}
	for _, o := range s.objects {
		if owner := ownerOf(o); owner != "" && a.uids[owner] {
			a.uids[o.GetUID()] = true // a replica set, whose pods count too
		}
	}
	return a
}

// in reports whether an object of a resource is among the surroundings.
func (a surroundings) in(resource string) func(*model.Object) bool {
	return func(o *model.Object) bool {
		uid := types.UID(o.UID)
		return a.uids[uid] || a.uids[a.owners[uid]] || a.node != "" && (resource == "pods" && o.Node == a.node || resource == "nodes" && o.Name == a.node)
	}
}

// knowledge says what a client had been told of the surroundings, in an indented paragraph for each resource.
func (a surroundings) knowledge(seen simtest.Seen, decision explain.Decision) (text string) {
	for _, resource := range slices.Sorted(maps.Keys(seen.Histories)) {
		if told := explain.New(seen.Histories[resource]).Knowledge(resource, decision, a.in(resource)); told != "" {
			text += "\n" + explain.Wrap(4, told)
		}
	}
	return text
}

// toldOf says what the author of a change had been told when it sent the request; "" if the author is unknown.
func (s *store) toldOf(old, now object, rv int64) string {
	by := s.author(old, now, rv)
	if by == nil {
		return ""
	}
	return "\n" + explain.Wrap(4, fmt.Sprintf("%s asked for that at %s.", s.who(by), model.At(by.Call))) +
		s.around(old, now).knowledge(s.seen, explain.Decision{Client: by.Client, Time: by.Call, RV: rv})
}

// who names the client that has made a request, and its controller, which follows the commit of Kubernetes in the User-Agent (restclient.AddUserAgent).
func (s *store) who(by *model.Operation) string {
	at, known := s.requests[requestOf{by.Client, by.Call, by.Scope}]
	if !known {
		return by.Client
	}
	_, version, _ := strings.Cut(at.all[at.at].Agent, " kubernetes/")
	if _, controller, is := strings.Cut(version, "/"); is {
		return by.Client + ", by its " + controller + ","
	}
	return by.Client
}

// leaderToldOf says what the last leading controller manager, or for a pending pod the scheduler, has been told of an overdue object.
func (s *store) leaderToldOf(of metav1.Object) string {
	prefix, which := managerName, "controller manager"
	if pod, is := of.(*corev1.Pod); is && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
		prefix, which = schedulerName, "scheduler"
	}
	lease := s.terms[electionLeases[prefix]]
	if lease == nil || lease.last == "" {
		return "\n" + explain.Wrap(4, "No "+which+" leads.")
	}
	life, end := newTold(s.seen, lease.last).life, int64(0)
	for _, history := range s.seen.Histories {
		end = max(end, history.End)
	}
	at := "an unknown time"
	if lease.began != nil {
		at = model.At(lease.began.Return)
	}
	leads := "leads, since"
	if lease.holder == "" {
		leads = "led until"
	}
	return "\n" + explain.Wrap(4, fmt.Sprintf("%s %s %s; the run ends at %s.", strings.TrimSpace(life), leads, at, model.At(end))) +
		s.around(of).knowledge(s.seen, explain.Decision{Client: life, Time: end, RV: math.MaxInt64})
}

// failedUnseen reports whether a controller manager has patched the status of a pod before it had observed that the pod had succeeded
// or failed: the pod garbage collector does so with pods of nodes that are gone, from a stale cache (finding 11).
func (s *store) failedUnseen(key string, pod *corev1.Pod) bool {
	if s.pods == nil {
		return false
	}
	for _, request := range s.seen.Requests["pods"] {
		if request.Subresource != "status" || !strings.HasPrefix(request.Client, managerName) || request.Scope.Namespace+"/"+request.Scope.Name != nameOf(key) {
			continue
		}
		if at := s.pods.Told(request.Client, s.ended[pod.UID]); at == model.Pending || at > request.Call {
			return true
		}
	}
	return false
}
