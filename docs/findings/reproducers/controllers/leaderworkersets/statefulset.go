package leaderworkersets

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Run plays the StatefulSet controller for the leaders of a set, whose pods are ready as soon as they exist. It writes the status of the StatefulSet some time
// after its pods have changed.
func (c *Cluster) Run(name string, after time.Duration) {
	for ; ; time.Sleep(10 * time.Millisecond) {
		set := &appsv1.StatefulSet{}
		if c.Get(ctx, Key(name), set) != nil {
			continue
		}
		replicas, ready, changed := *set.Spec.Replicas, int32(0), false
		for i := int32(0); ; i++ {
			pod := &corev1.Pod{}
			err := c.Get(ctx, Key(fmt.Sprintf("%s-%d", name, i)), pod)
			there := err == nil
			if !there && !apierrors.IsNotFound(err) {
				rig.Must(err)
			}
			if i >= replicas && !there {
				break
			}
			old := there && pod.Labels[lwsv1.RevisionKey] != set.Spec.Template.Labels[lwsv1.RevisionKey] && i >= *set.Spec.UpdateStrategy.RollingUpdate.Partition
			if there && (i >= replicas || old) {
				rig.Must(c.Delete(ctx, pod))
				there, changed = false, true
			}
			if i < replicas && !there {
				pod = c.NewLeader(set, fmt.Sprint(i))
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				rig.Must(c.Status().Update(ctx, pod))
				changed = true
			}
			if i < replicas {
				ready++
			}
		}
		if changed {
			time.Sleep(after)
		}
		c.status(name, ready, set.Generation)
	}
}

// status writes the status of a StatefulSet if it has changed.
func (c *Cluster) status(name string, ready int32, generation int64) {
	set := &appsv1.StatefulSet{}
	if c.Get(ctx, Key(name), set) != nil {
		return
	}
	status := appsv1.StatefulSetStatus{ObservedGeneration: generation, Replicas: ready, ReadyReplicas: ready, AvailableReplicas: ready}
	if set.Status.ObservedGeneration != status.ObservedGeneration || set.Status.Replicas != ready {
		set.Status = status
		_ = c.Status().Update(ctx, set) // after a conflict in the next round
	}
}

// Leaders counts the leaders of a set with a revision key, or with any.
func (c *Cluster) Leaders(name, key string) int {
	labels := client.MatchingLabels{lwsv1.SetNameLabelKey: name, lwsv1.WorkerIndexLabelKey: "0"}
	if key != "" {
		labels[lwsv1.RevisionKey] = key
	}
	var pods corev1.PodList
	rig.Must(c.List(ctx, &pods, labels, client.InNamespace(server.Namespace)))
	return len(pods.Items)
}
