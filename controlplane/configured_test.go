package controlplane

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/simtest"
)

// TestConfigure: an API server has the flags that it is given, also after another restart, and schedulers ask their extender.
func TestConfigure(t *testing.T) {
	plane := &Plane{}
	simtest.Seeds(t, plane.Config(simtest.Config{}, 1), func(t *simtest.T, c *simtest.Cluster) {
		priorities := func() error {
			return c.Client().CoreV1().RESTClient().Get().AbsPath("/debug/api_priority_and_fairness/dump_priority_levels").Do(t.Context()).Error()
		}
		require.NoError(t, priorities())
		require.NoError(t, plane.Configure(c, Settings{Servers: [][]string{{"--enable-priority-and-fairness=false"}}, Extender: []string{"bindVerb: bind"}}))
		require.True(t, apierrors.IsNotFound(priorities()))
		require.NoError(t, c.RestartServer(c.Servers()[0]))
		require.True(t, apierrors.IsNotFound(priorities()))

		pods := c.Client().CoreV1().Pods(metav1.NamespaceDefault)
		_, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		c.Eventually(func() error {
			pod, err := pods.Get(t.Context(), "p", metav1.GetOptions{})
			if err == nil && pod.Spec.NodeName == "" {
				err = errors.New("the pod is on no node")
			}
			return err
		})
		require.True(t, plane.done["Extender"])
	})
}
