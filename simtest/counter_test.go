package simtest_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// lose is the environment variable that makes TestCounter's programs lose updates.
const lose = "WATCHSIM_TEST_LOSE"

// goal is how far each program counts.
const goal = 5

// TestCounter has two programs that increment one object.
func TestCounter(t *testing.T) {
	simtest.Seeds(t, simtest.Config{Servers: 2}, func(t *simtest.T, c *simtest.Cluster) {
		maps := c.Client().CoreV1().ConfigMaps("default")
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		for _, name := range []string{"a", "b"} {
			c.Go(name, func(ctx context.Context, config *rest.Config) error {
				client, err := kubernetes.NewForConfig(config)
				if err != nil {
					return err
				}
				return count(ctx, client.CoreV1().ConfigMaps("default"), name, t)
			})
		}
		c.Faults(20 * time.Second)
		c.Eventually(func() error {
			counter, err := maps.Get(t.Context(), "counter", metav1.GetOptions{})
			if err == nil && (counter.Data["a"] != strconv.Itoa(goal) || counter.Data["b"] != strconv.Itoa(goal)) {
				err = fmt.Errorf("expected a and b at %d, found %v", goal, counter.Data)
			}
			return err
		})
	})
}

// count counts to the goal under a name, and then waits.
func count(ctx context.Context, maps typed.ConfigMapInterface, name string, t *simtest.T) error {
	for written := false; ; {
		counter, err := maps.Get(ctx, "counter", metav1.GetOptions{})
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(counter.Data[name])
		if n == goal || written && os.Getenv(lose) != "" {
			<-ctx.Done()
			return nil
		}
		if counter.Data == nil {
			counter.Data = map[string]string{}
		}
		counter.Data[name] = strconv.Itoa(n + 1)
		if os.Getenv(lose) != "" {
			counter.ResourceVersion = "" // without a precondition, the other one's update is lost
		}
		_, err = maps.Update(ctx, counter, metav1.UpdateOptions{})
		t.Sometimes("a conflict", apierrors.IsConflict(err))
		written = err == nil && n+1 == goal
		time.Sleep(100 * time.Millisecond)
	}
}
