package simtest_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/simtest"
)

// TestAnswersCanBeDisturbed has a program with an informer, which is stale while its watches are
// withheld, catches up afterwards, resumes a watch that has ended, and receives events while all its
// requests fail.
func TestAnswersCanBeDisturbed(t *testing.T) {
	simtest.Seeds(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		var client kubernetes.Interface
		var store cache.Store
		opened := 0 // watches
		c.Go("program", func(ctx context.Context, config *rest.Config) (err error) {
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(request *http.Request) (*http.Response, error) {
					if request.URL.Query().Get("watch") == "true" {
						opened++
					}
					return next.RoundTrip(request)
				})
			})
			if client, err = kubernetes.NewForConfig(config); err != nil {
				return err
			}
			factory := informers.NewSharedInformerFactory(client, 0)
			store = factory.Core().V1().ConfigMaps().Informer().GetStore()
			factory.Start(ctx.Done())
			<-ctx.Done()
			return nil
		})
		created := func(name string) {
			create := func() error {
				_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
				return err
			}
			for err := create(); err != nil && !apierrors.IsAlreadyExists(err); err = create() {
				time.Sleep(time.Second) // a server drops the connection of a client that stalls for two seconds
			}
			time.Sleep(5 * time.Second)
		}
		knows := func(name string) bool {
			_, known, err := store.GetByKey("default/" + name)
			require.NoError(t, err)
			return known
		}
		created("first")
		require.True(t, knows("first"))

		stall := func(watches string, withheld ...string) {
			found, err := c.StallWatches("program", watches)
			require.NoError(t, err)
			require.Equal(t, withheld, found)
		}
		stall("secrets")
		created("other")
		require.True(t, knows("other"), "watches of another resource go on")
		stall("configmaps", "configmaps")
		created("withheld")
		require.False(t, knows("withheld"))
		_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "withheld", metav1.GetOptions{})
		require.NoError(t, err, "other requests are answered")
		require.NoError(t, c.ResumeWatches("program"))
		time.Sleep(time.Second)
		require.True(t, knows("withheld"))

		require.NoError(t, c.LagWatches("program", time.Hour))
		created("late")
		require.False(t, knows("late"))
		require.NoError(t, c.LagWatches("program", 0))
		time.Sleep(5 * time.Second)
		require.True(t, knows("late"))
		require.NoError(t, c.LagWatches("program", 3*time.Second))
		created("soon")
		require.True(t, knows("soon"), "it is delivered every 3 s at the latest")
		require.NoError(t, c.LagWatches("program", 0))

		ended, err := c.EndWatches("program", "secrets")
		require.NoError(t, err)
		require.Zero(t, ended)
		before := opened
		ended, err = c.EndWatches("program", faults.AllResources)
		require.NoError(t, err)
		require.Equal(t, 1, ended)
		created("after")
		require.True(t, knows("after"))
		require.Greater(t, opened, before, "the informer has had to watch again")

		for code, is := range map[int]func(error) bool{
			http.StatusUnauthorized: apierrors.IsUnauthorized, http.StatusTooManyRequests: apierrors.IsTooManyRequests, http.StatusInternalServerError: apierrors.IsInternalError,
			http.StatusServiceUnavailable: apierrors.IsServiceUnavailable,
		} {
			require.NoError(t, c.FailRequests("program", code, 1))
			err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "first", metav1.DeleteOptions{})
			require.True(t, is(err), "%d: %v", code, err)
		}
		created("meanwhile")
		require.True(t, knows("meanwhile"), "the watch goes on")
		require.NoError(t, c.FailRequests("program", http.StatusInternalServerError, 4))
		failed := 0
		for range 100 {
			if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "first", metav1.GetOptions{}); err != nil {
				failed++
			}
		}
		require.InDelta(t, 25, failed, 15)
		require.NoError(t, c.FailRequests("program", 0, 1))
		require.True(t, knows("first"), "what failed had no effect")

		get := func() error {
			_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "first", metav1.GetOptions{})
			return err
		}
		require.NoError(t, c.DelayRequests("program", "configmaps", time.Minute))
		began := time.Now()
		_, err = client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Less(t, time.Since(began), 10*time.Second, "requests for other resources are not delayed")
		for range 5 {
			require.NoError(t, get())
		}
		require.Greater(t, time.Since(began), 10*time.Second)
		created("while requests are slow")
		require.True(t, knows("while requests are slow"), "the watch goes on")
		arrived := 0
		for i := range 20 {
			impatient, cancel := context.WithTimeout(t.Context(), time.Second)
			name := fmt.Sprintf("impatient-%d", i)
			_, err := client.CoreV1().ConfigMaps("default").Create(impatient, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			cancel()
			if time.Sleep(time.Second); err != nil && knows(name) {
				arrived++
			}
		}
		require.Positive(t, arrived, "some requests are answered late")
		require.Less(t, arrived, 20, "others arrive late")
		answered := make(chan error, 1)
		go func() { answered <- get() }()
		time.Sleep(10 * time.Millisecond)
		began = time.Now()
		require.NoError(t, c.DelayRequests("program", "", 0))
		require.NoError(t, <-answered)
		require.NoError(t, get())
		require.Less(t, time.Since(began), 10*time.Second, "nothing waits any longer")
	})
}

// roundTripper adapts a function to http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
