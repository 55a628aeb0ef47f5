package controlplane_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// deployment returns one of so many pods.
func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers:                    []corev1.Container{{Name: "c", Image: "image:1"}},
					TerminationGracePeriodSeconds: ptr.To(int64(5)),
				},
			},
		},
	}
}

// TestRollout: deployments are created and changed.
func TestRollout(t *testing.T) {
	config := simtest.Config{Cache: controlplane.KubeAPIServer}
	simtest.Seeds(t, config, func(t *simtest.T, c *simtest.Cluster) {
		controlplane.Start(c, controlplane.Plane{Managers: 1, Schedulers: 1, Nodes: 3, Workload: controlplane.Workload{Start: 3 * time.Second, End: 2 * time.Second}})
		all := c.Client().AppsV1().Deployments("default")
		for i := range 5 {
			_, err := all.Create(t.Context(), deployment(fmt.Sprintf("d%d", i), 3), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		c.Faults(60 * time.Second)
		c.Eventually(func() error {
			list, err := all.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, d := range list.Items {
				if d.Status.AvailableReplicas != 3 {
					return fmt.Errorf("expected 3 available replicas of %s, found %d", d.Name, d.Status.AvailableReplicas)
				}
			}
			return nil
		})
	})
}
