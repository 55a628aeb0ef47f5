package controlplane

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// withPolicy returns a pod with a restart policy.
func withPolicy(name string, policy corev1.RestartPolicy) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{RestartPolicy: policy}}
}

// A kubelet restarts what fails if the restart policy is OnFailure, and nothing that it has evicted.
func TestContainersRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := NewNode("n", &Workload{Start: time.Second, Work: time.Second, FailOneIn: 1, Healthy: time.Now().Add(time.Hour)})
		again, never := withPolicy("again", corev1.RestartPolicyOnFailure), withPolicy("never", corev1.RestartPolicyNever)
		for range 100 {
			node.of(again)
			node.of(never)
			time.Sleep(time.Second)
		}
		require.Greater(t, node.of(again).restarts, int32(20))
		end, _ := node.of(again).over()
		require.True(t, end.After(time.Now()))
		node.workload.Healthy = time.Now()
		for range 10 {
			node.of(again)
			time.Sleep(time.Second)
		}
		end, _ = node.of(again).over()
		require.True(t, end.Before(time.Now()) && node.of(again).exit == 0)
		require.Zero(t, node.of(never).restarts)
		require.Positive(t, node.of(never).exit)
		node.workload.FailOneIn, node.workload.EvictOneIn, node.workload.Work, node.workload.Healthy = 0, 1, time.Hour, time.Now().Add(time.Hour)
		evicted := withPolicy("evicted", corev1.RestartPolicyOnFailure)
		node.of(evicted)
		time.Sleep(2 * time.Minute)
		end, over := node.of(evicted).over()
		require.True(t, over && end.Before(time.Now()))
		require.Equal(t, int32(killed), node.of(evicted).exit)
		require.Zero(t, node.of(evicted).restarts)
	})
}

// The containers of a pod that always restarts them crash once, and then run until the pod is deleted.
func TestContainersCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := NewNode("n", &Workload{Start: time.Second, CrashOneIn: 1, Healthy: time.Now().Add(time.Hour)})
		always, never := withPolicy("always", corev1.RestartPolicyAlways), withPolicy("never", corev1.RestartPolicyNever)
		require.Zero(t, node.of(always).restarts)
		node.of(never)
		time.Sleep(time.Minute)
		require.Equal(t, int32(1), node.of(always).restarts)
		time.Sleep(time.Minute)
		require.Equal(t, int32(1), node.of(always).restarts)
		_, over := node.of(always).over()
		require.False(t, over)
		require.Zero(t, node.of(never).restarts)
		late := NewNode("late", &Workload{CrashOneIn: 1, Healthy: time.Now()})
		late.of(always)
		time.Sleep(time.Minute)
		require.Zero(t, late.of(always).restarts)
	})
}

// Some pods are unready for a while, some until the end, and some are evicted. All that runs becomes ready then, and stays so.
func TestContainersRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sick = 2 * time.Minute
		node := NewNode("n", &Workload{Start: time.Second, UnreadyOneIn: 2, EvictOneIn: 4, Healthy: time.Now().Add(sick)})
		all, last, changes, hang := make([]*containers, 200), map[*containers]bool{}, 0, 0
		for i := range all {
			all[i] = node.of(withPolicy(fmt.Sprint(i), corev1.RestartPolicyAlways))
			if all[i].ready.Equal(node.workload.Healthy) {
				hang++
			}
		}
		for began := time.Now(); time.Since(began) < sick-time.Second; time.Sleep(time.Second) {
			for _, c := range all {
				ready, next := node.probe(c)
				require.True(t, next.IsZero() == c.probed.IsZero() && !next.After(node.workload.Healthy))
				if was, known := last[c]; known && was != ready {
					changes++
				}
				last[c] = ready
			}
		}
		require.InDelta(t, len(all)/8, hang, 20)
		require.Greater(t, changes, 5*len(all)/2/2, "about half of the pods change every ten seconds")
		evicted := 0
		time.Sleep(time.Second)
		for _, c := range all {
			if c.evicted {
				evicted++
			}
			ready, next := node.probe(c)
			require.True(t, ready && next.IsZero())
		}
		require.InDelta(t, len(all)/4, evicted, 25)
		for i := range 100 {
			c := node.of(withPolicy(fmt.Sprint("late-", i), corev1.RestartPolicyAlways))
			ready, _ := node.probe(c)
			require.True(t, ready && !c.evicted && !c.ready.Equal(node.workload.Healthy))
		}
	})
}
