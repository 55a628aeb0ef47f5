package controlplane

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestRestrain: with the group, some templates get a port of the host, some an anti-affinity and some a gate, and most nothing; without it, none gets any.
func TestRestrain(t *testing.T) {
	for _, groups := range [][]Group{nil, {Placement}} {
		ports, affine, gated, free := 0, 0, 0, 0
		for seed := range uint64(1000) {
			template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
			(&person{usage: Usage{Groups: groups}}).restrain(&template, rand.New(rand.NewPCG(1, seed)))
			switch pod := (&corev1.Pod{Spec: template.Spec}); {
			case len(hostPorts(pod)) > 0:
				ports++
			case pod.Spec.Affinity != nil:
				affine++
			case len(pod.Spec.SchedulingGates) > 0:
				gated++
			default:
				free++
			}
		}
		if groups == nil {
			require.Equal(t, 1000, free)
			continue
		}
		require.Greater(t, min(ports, affine, gated), 50)
		require.Greater(t, free, 500)
	}
}
