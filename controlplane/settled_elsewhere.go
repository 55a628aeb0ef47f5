package controlplane

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// SettledElsewhere is Settled while some nodes are off and stay off, or finalizers of users stay: it returns the first object that has not converged as far as
// those allow. Rollouts may wait for pods of such a node, what is being deleted may wait for pods there to end, and nothing waits for other pods that are kept.
func SettledElsewhere(ctx context.Context, client kubernetes.Interface, untyped dynamic.Interface) error {
	s, err := readAll(ctx, client, untyped)
	if err != nil {
		return err
	}
	s.off = map[string]bool{}
	for _, node := range s.nodes {
		if len(node.Spec.Taints) > 0 {
			s.off[node.Name] = true
		}
	}
	err = first(promise{soon, s.cronJobsRun}, promise{soon, func() error { return s.suspendCronJobs(ctx, client) }}, promise{soon, func() error { return s.byHand(ctx, client) }},
		promise{soon, s.customsServed}, promise{soon, s.owners}, promise{soon, s.inNamespaces}, promise{soon, s.claimsBind})
	if err != nil {
		return err
	}
	s.deployments, s.stateful, s.sets = kept(s, s.deployments), kept(s, s.stateful), kept(s, s.sets)
	s.daemons, s.jobs, s.budgets, s.services, s.slices = kept(s, s.daemons), kept(s, s.jobs), kept(s, s.budgets), kept(s, s.services), kept(s, s.slices)
	return first(promise{soon, s.evicted}, promise{soon, s.generationsObserved}, promise{soon, s.setsDone}, promise{soon, s.daemonsRun}, promise{soon, s.podsRun}, promise{soon, s.servicesReach}, promise{soon, s.budgetsCount},
		promise{soon, s.jobsBegin}, promise{soon, s.jobsRest})
}

// kept returns the objects that are not being deleted, and whose namespaces are not: nothing can be created there, and what is there waits for all pods to
// end before it is deleted (KEP-5080, ordered namespace deletion).
func kept[T any, P interface {
	*T
	metav1.Object
}](s *state, items []T) []T {
	return slices.DeleteFunc(items, func(item T) bool {
		return P(&item).GetDeletionTimestamp() != nil || s.ends(P(&item).GetNamespace())
	})
}

// ends reports whether a namespace is being deleted.
func (s *state) ends(namespace string) bool {
	return slices.ContainsFunc(s.namespaces, func(n corev1.Namespace) bool { return n.Name == namespace && n.DeletionTimestamp != nil })
}

// generationsObserved: controllers act on the latest spec of each workload, whatever keeps its pods from becoming what that asks for.
func (s *state) generationsObserved() error {
	behind := func(of metav1.Object, observed int64) error {
		if observed < of.GetGeneration() {
			return wrongf(of, "%T %s is at generation %d, and its controller has observed %d", of, describe(of), of.GetGeneration(), observed)
		}
		return nil
	}
	var errs []error
	for _, d := range s.deployments {
		errs = append(errs, behind(&d, d.Status.ObservedGeneration))
	}
	for _, r := range s.sets {
		errs = append(errs, behind(&r, r.Status.ObservedGeneration))
	}
	for _, set := range s.stateful {
		errs = append(errs, behind(&set, set.Status.ObservedGeneration))
	}
	for _, d := range s.daemons {
		errs = append(errs, behind(&d, d.Status.ObservedGeneration))
	}
	return cmp.Or(errs...)
}

// maxStay is the longest time of which it is expected that a pod tolerates a node that is off for no longer. Together with the time until that is noticed, it is
// less than what the rest has to converge: a controller manager that begins to lead counts from then on.
const maxStay = 2 * time.Minute

// evicted: a pod is deleted from a node with NoExecute taints that it no longer tolerates
// (kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration).
func (s *state) evicted() error {
	for _, node := range s.nodes {
		var taints []corev1.Taint
		var since time.Time
		for _, taint := range node.Spec.Taints {
			if taint.Effect == corev1.TaintEffectNoExecute && taint.TimeAdded != nil {
				taints = append(taints, taint)
				since = slices.MaxFunc([]time.Time{since, taint.TimeAdded.Time}, time.Time.Compare)
			}
		}
		for _, pod := range s.pods {
			if stays := tolerates(&pod, taints); pod.Spec.NodeName == node.Name && lives(&pod) && stays <= maxStay && time.Since(since) > stays {
				return wrongf(&pod, "pod %s stays on node %s, which has had NoExecute taints for %v, and tolerates them for %v", describe(&pod), node.Name, time.Since(since).Round(time.Second), stays)
			}
		}
	}
	return nil
}

// daemonsRun: a daemon set has a pod on each node that it is for and that is not off, whatever becomes of its pods on nodes that are. It creates none
// where one is terminating, which a finalizer of a user may keep.
func (s *state) daemonsRun() error {
	for _, d := range s.daemons {
		for _, node := range s.nodes {
			if s.off[node.Name] || s.short(d.Namespace) || !labels.SelectorFromSet(d.Spec.Template.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
				continue
			}
			isThere := func(p *corev1.Pod) bool {
				return ownerOf(p) == d.UID && (lives(p) || p.DeletionTimestamp != nil && isFinalized(p)) && cmp.Or(p.Spec.NodeName, wantedNode(p)) == node.Name
			}
			if s.count(isThere) == 0 {
				return wrongf(&d, "daemon set %s has no pod on node %s", describe(&d), node.Name)
			}
		}
	}
	return nil
}
