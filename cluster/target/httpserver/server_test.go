package httpserver_test

import (
	"context"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// simulated runs a test with one API server over one member.
func simulated(t *testing.T, options httpserver.Options, test func(testing.TB, *sim.World, *cluster.Cluster)) {
	isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(t testing.TB, world *sim.World) {
		c, err := cluster.Start(world, cluster.Config{Members: 1, Servers: 1, Target: httpserver.New(options), ProgressNotify: 5 * time.Second})
		require.NoError(t, err)
		test(t, world, c)
		world.Settle()
	})
}

// newClient returns a client with connections of its own.
func newClient(trusts rest.TLSClientConfig) *kubernetes.Clientset {
	dialer := &net.Dialer{}
	return kubernetes.NewForConfigOrDie(&rest.Config{Host: httpserver.URL("apiserver-0"), TLSClientConfig: trusts, Dial: dialer.DialContext})
}

func TestWritesAndWatches(t *testing.T) {
	simulated(t, httpserver.Options{}, func(t testing.TB, world *sim.World, c *cluster.Cluster) {
		world.Process("client").Do(func() {
			client, ctx := newClient(rest.TLSClientConfig{Insecure: true}), context.Background()
			require.Eventually(t, func() bool {
				_, err := client.CoreV1().ConfigMaps("n").List(ctx, metav1.ListOptions{})
				return err == nil
			}, time.Minute, time.Second)
			watch, err := client.AppsV1().Deployments("n").Watch(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			made, err := client.AppsV1().Deployments("n").Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}}, metav1.CreateOptions{})
			require.NoError(t, err)
			require.EqualValues(t, 1, made.Generation)
			require.Equal(t, "d", (<-watch.ResultChan()).Object.(*appsv1.Deployment).Name)
			made.Status.Replicas = 3
			made, err = client.AppsV1().Deployments("n").UpdateStatus(ctx, made, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.EqualValues(t, 3, made.Status.Replicas)
			_, err = client.CoreV1().Pods("n").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}}, metav1.CreateOptions{})
			require.NoError(t, err)
		})
		require.NoError(t, c.Servers()[0].Stop())
	})
}

// Resources that kube-apiserver treats specially are treated the same way.
func TestResourcesThatDiffer(t *testing.T) {
	simulated(t, httpserver.Options{EventTTL: 10 * time.Second}, func(t testing.TB, world *sim.World, c *cluster.Cluster) {
		world.Process("client").Do(func() {
			client, ctx := newClient(rest.TLSClientConfig{Insecure: true}), context.Background()
			require.Eventually(t, func() bool {
				_, err := client.CoreV1().Events("n").List(ctx, metav1.ListOptions{})
				return err == nil
			}, time.Minute, time.Second)
			_, err := client.CoreV1().Events("n").Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "n"}}, metav1.CreateOptions{})
			require.NoError(t, err)
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "n"}}
			_, err = client.CoordinationV1().Leases("n").Update(ctx, lease, metav1.UpdateOptions{})
			require.NoError(t, err, "an update creates a lease")
			_, err = client.CoordinationV1().Leases("n").Update(ctx, lease, metav1.UpdateOptions{})
			require.True(t, apierrors.IsInvalid(err), "without a resourceVersion, found %v", err)
			_, err = client.CoreV1().Pods("n").Update(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}}, metav1.UpdateOptions{})
			require.True(t, apierrors.IsNotFound(err), "found %v", err)
			time.Sleep(5 * time.Second)
			_, err = client.CoreV1().Events("n").Get(ctx, "e", metav1.GetOptions{})
			require.NoError(t, err)
			time.Sleep(10 * time.Second)
			_, err = client.CoreV1().Events("n").Get(ctx, "e", metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err), "found %v", err)
		})
		require.NoError(t, c.Servers()[0].Stop())
	})
}

// A server that has just started does not answer 404 for custom resources.
func TestStartsBeforeItKnowsWhatIsDefined(t *testing.T) {
	simulated(t, httpserver.Options{}, func(t testing.TB, world *sim.World, c *cluster.Cluster) {
		for life := range 3 {
			unavailable := 0
			world.Process("client").Do(func() {
				client := newClient(rest.TLSClientConfig{Insecure: true}).Discovery().RESTClient()
				require.Eventually(t, func() bool {
					err := client.Get().AbsPath("/apis/example.com/v1/gadgets").MaxRetries(0).Do(context.Background()).Error()
					if apierrors.IsServiceUnavailable(err) {
						unavailable++
					}
					return apierrors.IsNotFound(err)
				}, time.Minute, time.Millisecond)
			})
			require.NotZero(t, unavailable, "life %d", life)
			require.NoError(t, c.Servers()[0].Crash())
			require.NoError(t, c.Servers()[0].Start())
		}
		require.NoError(t, c.Servers()[0].Stop())
	})
}

// Clients reject an expired certificate and lose their open connections; a new life of the server has a valid one.
func TestExpiredCertificates(t *testing.T) {
	simulated(t, httpserver.Options{}, func(t testing.TB, world *sim.World, c *cluster.Cluster) {
		server, faulty := c.Servers()[0], c.Surface(nil, nil)
		world.Process("client").Do(func() {
			client := newClient(rest.TLSClientConfig{CAData: c.Authority(), ServerName: target.CertificateName})
			lists := func() error {
				_, err := client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
				return err
			}
			require.Eventually(t, func() bool { return lists() == nil }, time.Minute, time.Second)
			for _, renew := range []func() error{
				func() error { return faulty.ExpireCertificate(server.Name(), false) },
				func() error { return faulty.RestartServer(context.Background(), server.Name()) },
			} {
				require.NoError(t, faulty.ExpireCertificate(server.Name(), true))
				time.Sleep(time.Second)
				var invalid x509.CertificateInvalidError
				require.ErrorAs(t, lists(), &invalid)
				require.Equal(t, x509.Expired, invalid.Reason)
				world.Process(server.Name()).Do(func() { require.NoError(t, lists(), "what a server asks itself") })
				require.NoError(t, renew())
				require.Eventually(t, func() bool { return lists() == nil }, time.Minute, time.Second)
			}
		})
		require.NoError(t, server.Stop())
		require.ErrorIs(t, faulty.ExpireCertificate(server.Name(), true), cluster.ErrState)
		require.NoError(t, faulty.ExpireCertificate(server.Name(), false))
	})
}
