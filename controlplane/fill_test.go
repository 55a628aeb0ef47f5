package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/watchsim/watchsim/controlplane"
)

// On a node of one CPU, the new pod requests what is left; on a full node there is none.
func TestFill(t *testing.T) {
	for name, row := range map[string]struct {
		requests string
		phase    corev1.PodPhase
		want     string
	}{
		"partly used":   {"600m", corev1.PodRunning, "400m"},
		"full":          {"1", corev1.PodRunning, ""},
		"succeeded pod": {"600m", corev1.PodSucceeded, "1"},
		"overcommitted": {"2", corev1.PodRunning, ""},
		"no request":    {"0", corev1.PodRunning, "1"},
		"failed pod":    {"1", corev1.PodFailed, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			w.pod.Status.Phase = row.phase
			w.pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(row.requests)}}}}
			client := fake.NewClientset(&w.node, &w.pod)
			require.NoError(t, controlplane.Fill(t.Context(), client))
			created, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			found := ""
			for _, pod := range created.Items {
				require.Equal(t, "n", pod.Spec.NodeSelector[corev1.LabelHostname])
				found += pod.Spec.Containers[0].Resources.Requests.Cpu().String()
			}
			require.Equal(t, row.want, found)
			require.NoError(t, controlplane.Overfill(t.Context(), client))
			beyond, err := client.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "a-overfills", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, "1m", beyond.Spec.Containers[0].Resources.Requests.Cpu().String())
			require.Empty(t, beyond.Spec.NodeSelector)
		})
	}
}
