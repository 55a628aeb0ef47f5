package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/simtest"
)

// stored is what etcd holds at a key.
func stored(ctx context.Context, key string) (string, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://etcd-0:2379"}})
	if err != nil {
		return "", err
	}
	defer client.Close()
	got, err := client.Get(ctx, key)
	if err == nil && len(got.Kvs) != 1 {
		err = fmt.Errorf("expected one value of %s in etcd, found %d", key, len(got.Kvs))
	}
	if err != nil {
		return "", err
	}
	return string(got.Kvs[0].Value), nil
}

// TestEncryption: the API servers encrypt values in etcd, the oracle reads them nevertheless, and a server
// that starts during an outage of the key management service stores no secrets until it is over. Then it has a
// new key, which another server that is cut off from the service cannot read.
func TestEncryption(t *testing.T) {
	const plain, key = "what nobody must read", "/registry/secrets/default/before"
	outage, err := faults.Parse(`# watchsim plan v1
at 1s transform-failure server=apiserver-0 for=1m
at 2s apiserver-restart server=apiserver-0
at 70s transform-failure server=apiserver-1 for=30s
`)
	require.NoError(t, err)
	for _, cache := range []simtest.Cache{simtest.Kubernetes, simtest.Watchsim} {
		t.Run(string(cache), func(t *testing.T) {
			config := simtest.Config{Cache: cache, Servers: 2, KMS: true}
			config.Check = func(seen simtest.Seen) error {
				for _, change := range seen.Committed.Changes {
					if change.Object.Name == key && strings.Contains(change.Object.Value, plain) {
						return nil
					}
				}
				return errors.New("expected the secret among what etcd has committed, decrypted, and found none")
			}
			simtest.Seeds(t, config, func(t *simtest.T, c *simtest.Cluster) {
				create := func(name string) error {
					secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"s": []byte(plain)}}
					_, err := c.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
					return err
				}
				c.Encrypt("secrets")
				require.NoError(t, create("before"))
				value, err := stored(t.Context(), key)
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(value, "k8s:enc:kms:v2:"), "%q", value)
				require.NotContains(t, value, plain)

				c.Inject(outage, 2*time.Minute)
				time.Sleep(40 * time.Second)
				require.True(t, apierrors.IsInternalError(create("during")))
				require.False(t, c.KeyMissed(), "who has no key of its own does not ask for those of others")
				time.Sleep(40 * time.Second)
				require.NoError(t, create("after"))
				time.Sleep(time.Second)
				require.True(t, c.KeyMissed(), "the other server, which has to ask for the key of this one")
			})
		})
	}
}
