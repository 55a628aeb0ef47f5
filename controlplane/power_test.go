package controlplane

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Containers end when their node loses power, and restart when power returns if their pod was not deleted.
func TestPower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := NewNode("n", &Workload{Start: time.Second, Work: time.Hour})
		always, never := withPolicy("always", corev1.RestartPolicyAlways), withPolicy("never", corev1.RestartPolicyNever)
		deleted := withPolicy("deleted", corev1.RestartPolicyAlways)
		for _, pod := range []*corev1.Pod{always, never, deleted} {
			node.of(pod)
		}
		on, _ := node.power(t.Context())
		first := node.switchOff()
		require.Error(t, on.Err())
		for _, c := range node.ran {
			end, over := c.over()
			require.True(t, over)
			require.Equal(t, time.Now(), end)
		}
		require.Nil(t, node.of(always), "a kubelet that has not noticed yet starts nothing")
		second := node.switchOff()
		first()
		require.True(t, node.isOff(), "the first outage has ended, and not the second")
		time.AfterFunc(time.Minute, second)
		began := time.Now()
		on, _ = node.power(t.Context())
		require.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, on.Err())
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		_, over := node.of(always).over()
		require.False(t, over)
		end, over := node.of(never).over()
		require.True(t, over && !end.After(time.Now()) && node.of(never).exit == killed)
		end, over = node.of(deleted).over()
		require.True(t, over && end.Before(time.Now()))
	})
}
