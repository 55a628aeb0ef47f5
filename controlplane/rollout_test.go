package controlplane_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// deployment returns a deployment of so many pods.
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
					TerminationGracePeriodSeconds: new(int64(5)),
				},
			},
		},
	}
}

// TestRollout: deployments are created, and get another image while faults happen.
func TestRollout(t *testing.T) {
	plane := &controlplane.Plane{Workload: controlplane.Workload{Start: 3 * time.Second, End: 2 * time.Second}}
	simtest.Seeds(t, booted(simtest.Config{}, plane, 3), func(t *simtest.T, c *simtest.Cluster) {
		all := c.Client().AppsV1().Deployments("default")
		for i := range 5 {
			_, err := all.Create(t.Context(), deployment(fmt.Sprintf("d%d", i), 3), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		c.EncryptAtRest(60 * time.Second)
		c.Faults(60 * time.Second)
		time.Sleep(30 * time.Second)
		for controlplane.Upgrade(t.Context(), c.Config(), "image:2") != nil {
			time.Sleep(time.Second) // the faults end
		}
		c.Eventually(func() error {
			return controlplane.Settled(t.Context(), c.Client(), dynamic.NewForConfigOrDie(c.Config()))
		})
	})
}
