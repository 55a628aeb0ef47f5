package simtest_test

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

	"github.com/watchsim/watchsim/simtest"
)

func TestCounter(t *testing.T) {
	simtest.Seeds(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		client := c.Client().CoreV1().ConfigMaps("default")
		_, err := client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}, Data: map[string]string{"n": "0"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		const programs, times = 2, 5
		done := make(chan int, programs*times)
		for i := range programs {
			c.Go(fmt.Sprintf("counter-%d", i), func(ctx context.Context, config *rest.Config) error {
				maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
				for range times {
					for {
						counter, err := maps.Get(ctx, "counter", metav1.GetOptions{})
						if err != nil {
							continue
						}
						n, _ := strconv.Atoi(counter.Data["n"])
						counter.Data["n"] = strconv.Itoa(n + 1)
						counter.ResourceVersion = "" // a lost update
						if _, err := maps.Update(ctx, counter, metav1.UpdateOptions{}); err == nil {
							break
						}
						time.Sleep(10 * time.Millisecond)
					}
					done <- 1
				}
				<-ctx.Done()
				return nil
			})
		}
		for range programs * times {
			<-done
		}
		counter, err := client.Get(t.Context(), "counter", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(programs*times), counter.Data["n"])
	})
}
