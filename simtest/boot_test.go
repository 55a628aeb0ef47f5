package simtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// Every seed begins with what Config.Boot has left: objects, running programs, and variables,
// whatever the seed before it did with them.
func TestSeedsGoOnFromBoot(t *testing.T) {
	steps := 0
	config := simtest.Config{Boot: func(t *simtest.T, c *simtest.Cluster) {
		_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "booted"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		c.Go("stepper", func(ctx context.Context, _ *rest.Config) error {
			for ; ctx.Err() == nil; steps++ {
				time.Sleep(time.Second)
			}
			return nil
		})
		time.Sleep(10*time.Second + 500*time.Millisecond)
	}}
	simtest.Seeds(t, config, func(t *simtest.T, c *simtest.Cluster) {
		require.Equal(t, 10, steps)
		require.Less(t, c.Now(), time.Second)
		_, err := c.Client().CoreV1().ConfigMaps("default").Get(t.Context(), "booted", metav1.GetOptions{})
		require.NoError(t, err)
		c.Faults(10 * time.Second)
		time.Sleep(10 * time.Second)
		t.Sometimes("the program crashes", steps < 19)
		c.Heal()
		before := steps
		time.Sleep(20 * time.Second)
		require.Greater(t, steps, before+5)
	})
}
