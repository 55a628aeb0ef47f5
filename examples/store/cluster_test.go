package main

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/watchsim/watchsim/simtest"
)

// started reports whether the store was started in this process, or in the one that it was copied from.
var started bool

// A program counts to ten in an object in the store, despite faults.
func TestCounter(t *testing.T) {
	simtest.Seeds(t, simtest.Config{Cache: "store"}, func(t *simtest.T, c *simtest.Cluster) {
		require.True(t, started, "expected the store in etcd's place")
		maps := c.Client().CoreV1().ConfigMaps("default")
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		c.Go("counter", count)
		c.Faults(20 * time.Second)
		c.Eventually(func() error {
			counter, err := maps.Get(t.Context(), "counter", metav1.GetOptions{})
			if err == nil && counter.Data["n"] != "10" {
				err = fmt.Errorf("expected 10, found %q", counter.Data["n"])
			}
			return err
		})
	})
}

func count(ctx context.Context, config *rest.Config) error {
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	for done := false; !done; {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			counter, err := maps.Get(ctx, "counter", metav1.GetOptions{})
			if err != nil {
				return err
			}
			n, _ := strconv.Atoi(counter.Data["n"])
			if done = n == 10; done {
				return nil
			}
			counter.Data = map[string]string{"n": strconv.Itoa(n + 1)}
			_, err = maps.Update(ctx, counter, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return err // and is restarted
		}
	}
	<-ctx.Done()
	return nil
}
