package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// twins returns violations of AtMostOne: two pods of a stateful set with the same identity must not
// run at the same time, on any nodes
// (kubernetes.io/docs/tasks/run-application/force-delete-stateful-set-pod). It must be called after
// the run, with the store in its last state.
func (p *Plane) twins(s *store) (broken []string) {
	var all []*containers
	for _, node := range p.nodes {
		all = append(all, node.ran...)
	}
	slices.SortStableFunc(all, func(a, b *containers) int { return a.began.Compare(b.began) })
	last := map[string]*containers{}
	for _, c := range all {
		if c.kind != "StatefulSet" {
			continue
		}
		before := last[c.pod.String()]
		if last[c.pod.String()] = c; before == nil || before.uid == c.uid {
			continue
		}
		if end, over := before.over(); !over || end.After(c.began) {
			if s.deletedUnbound(before.uid) && s.isFinding(29, "pods", "an API server has deleted a pod without its grace period, as the pod was not yet bound in what the server looked at first") {
				continue
			}
			text := "still ran"
			if over {
				text = fmt.Sprintf("ran on for %v", end.Sub(c.began).Round(time.Millisecond))
			}
			broken = append(broken, fmt.Sprintf("AtMostOne is broken: pod %s began with UID %s on %s while %s of the same name %s on %s", c.pod, c.uid, c.node, before.uid, text, before.node))
		}
	}
	return broken
}

// deletedUnbound reports whether a bound pod was deleted without its grace period by a deletion or eviction that overlapped with the
// bind request, or that went to an API server whose cache may not have held the bound pod. Its kubelet deletes a pod without a grace period
// once the containers have ended.
func (s *store) deletedUnbound(pod types.UID) bool {
	k := s.known[pod]
	if k == nil || s.bindings == nil || s.bindings.by[pod] == nil || ptr.Deref(k.pod.DeletionGracePeriodSeconds, -1) != 0 || ptr.Deref(k.pod.Spec.TerminationGracePeriodSeconds, 0) == 0 {
		return false
	}
	bound := s.bindings.by[pod]
	return slices.ContainsFunc(s.seen.Requests["pods"], func(request *importer.Told) bool {
		return (request.Kind == model.Delete || request.Subresource == "eviction") && request.Scope == bound.Scope &&
			!strings.HasPrefix(request.Client, k.pod.Spec.NodeName) &&
			(request.Return == model.Pending || request.Return > bound.Call) &&
			(request.Call < bound.Return || s.mayNotCache("pods", request.Server, k.bound, request.Call))
	})
}
