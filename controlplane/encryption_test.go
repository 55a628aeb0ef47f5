package controlplane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/simtest"
)

// TestEncryption: a kube-apiserver that starts during an outage of the key management service stores no
// secrets until the service is back.
func TestEncryption(t *testing.T) {
	outage, err := faults.Parse(`# watchsim plan v1
at 1s transform-failure server=apiserver-0 for=1m
at 2s apiserver-restart server=apiserver-0
`)
	require.NoError(t, err)
	simtest.Seeds(t, simtest.Config{Cache: controlplane.KubeAPIServer, KMS: true}, func(t *simtest.T, c *simtest.Cluster) {
		c.Encrypt("secrets")
		create := func(name string) error {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := c.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
			return err
		}
		require.NoError(t, create("before"))
		c.Inject(outage, 2*time.Minute)
		time.Sleep(40 * time.Second)
		require.True(t, apierrors.IsInternalError(create("during")))
		c.Eventually(func() error { return create("after") })
	})
}
