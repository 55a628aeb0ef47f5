package simnet_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/watchsim/watchsim/sim/simnet"
)

// lossless are latencies as in a data centre, with a long tail.
var lossless = simnet.Link{Latency: simnet.Latency{
	Min: 200 * time.Microsecond, Max: 2 * time.Millisecond,
	TailProbability: 0.01, Tail: 100 * time.Millisecond,
}}

// TestNetHTTP runs a real HTTP server and client, keep-alive and chunked
// bodies of several buffers included.
func TestNetHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(simnet.Config{Default: lossless})
		listener, err := n.Listen("apiserver-0", "unix", "apiserver.sock")
		require.NoError(t, err)
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		})}
		go func() { _ = server.Serve(listener) }()

		transport := http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return n.DialContext(ctx, "client-1", "unix", "apiserver.sock")
		}}
		client := http.Client{Transport: &transport, Timeout: time.Minute}
		for _, size := range []int{0, 1, 1000, 5 * simnet.StreamBuffer} {
			body := strings.Repeat("x", size)
			response, err := client.Post("http://apiserver/", "text/plain", strings.NewReader(body))
			require.NoError(t, err)
			got, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, body, string(got))
		}
		require.Equal(t, 1, n.Stats().Connections, "one connection is kept alive")

		n.Partition("client-1", "apiserver-0")
		_, err = client.Get("http://apiserver/")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		n.Heal("client-1", "apiserver-0")
		response, err := client.Get("http://apiserver/")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())

		transport.CloseIdleConnections()
		require.NoError(t, server.Shutdown(context.Background()))
	})
}

// TestGRPC runs a real gRPC server and client through a partition and a crash.
func TestGRPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(simnet.Config{Default: lossless, RetransmitMax: 2 * time.Second})
		serve := func() (*grpc.Server, *health.Server) {
			listener, err := n.Listen("etcd-0", "unix", "etcd-0:2379")
			require.NoError(t, err)
			server, service := grpc.NewServer(), health.NewServer()
			grpc_health_v1.RegisterHealthServer(server, service)
			go func() { _ = server.Serve(listener) }()
			return server, service
		}
		server, service := serve()
		conn, err := grpc.NewClient("passthrough:///etcd-0:2379",
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Second, MaxDelay: time.Second}}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}),
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				return n.DialContext(ctx, "apiserver-0", "unix", address)
			}))
		require.NoError(t, err)
		defer conn.Close()
		client := grpc_health_v1.NewHealthClient(conn)
		check := func(patience time.Duration) codes.Code {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
			return status.Code(err)
		}
		for range 20 {
			require.Equal(t, codes.OK, check(time.Second))
		}

		watch, err := client.Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
		require.NoError(t, err)
		for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
			grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING,
		} {
			service.SetServingStatus("", want)
			update, err := watch.Recv()
			require.NoError(t, err)
			require.Equal(t, want, update.Status)
		}

		n.Partition("apiserver-0", "etcd-0")
		require.Equal(t, codes.DeadlineExceeded, check(2*time.Second))
		n.Heal("apiserver-0", "etcd-0")
		require.Equal(t, codes.OK, check(5*time.Second), "the connection survives")
		require.Equal(t, 1, n.Stats().Connections)

		n.CrashHost("etcd-0")
		_, err = watch.Recv()
		require.Equal(t, codes.Unavailable, status.Code(err), "the stream breaks")
		server.Stop()
		server, _ = serve()
		require.Equal(t, codes.OK, check(5*time.Second), "the client comes back")
		require.Equal(t, 2, n.Stats().Connections)
		require.NoError(t, conn.Close())
		server.Stop()
	})
}

// TestConn runs the standard tests of connections. They live by the real clock.
func TestConn(t *testing.T) {
	links := map[string]simnet.Link{
		"instant":   {},
		"latency":   {Latency: simnet.Latency{Min: time.Microsecond, Max: 100 * time.Microsecond}},
		"bandwidth": {Bandwidth: 100 << 20},
	}
	for name, link := range links {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (dialed, accepted net.Conn, stop func(), err error) {
				dialed, accepted = pair(t, link)
				return dialed, accepted, func() { _, _ = dialed.Close(), accepted.Close() }, nil
			})
		})
	}
}

// pair makes a connection over a link.
func pair(b testing.TB, link simnet.Link) (dialed, accepted net.Conn) {
	b.Helper()
	random := func(string) *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
	n := simnet.New(simnet.Config{Default: link, Rand: random})
	listener, err := n.Listen("server", "tcp", ":1")
	require.NoError(b, err)
	dialed, err = n.DialContext(context.Background(), "client", "tcp", "server:1")
	require.NoError(b, err)
	accepted, err = listener.Accept()
	require.NoError(b, err)
	return dialed, accepted
}

// fake runs the body of a benchmark on the fake clock. The benchmark's timer
// must be left alone meanwhile.
func fake(b *testing.B, body func()) {
	b.Helper()
	// synctest.Test wants a *testing.T, and needs nothing from it here.
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "bubble", F: func(t *testing.T) { synctest.Test(t, func(*testing.T) { body() }) },
	}})
}

// BenchmarkWriteRead is a small message written and read by one goroutine: the
// network's own cost.
func BenchmarkWriteRead(b *testing.B) {
	dialed, accepted := pair(b, simnet.Link{})
	p := make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = dialed.Write(p)
		_, _ = accepted.Read(p)
	}
}

// BenchmarkPingPong is a small message each way between two goroutines.
func BenchmarkPingPong(b *testing.B) {
	for _, link := range []struct {
		name string
		simnet.Link
	}{{"instant", simnet.Link{}}, {"latency", lossless}} {
		b.Run(link.name, func(b *testing.B) {
			b.ReportAllocs()
			fake(b, func() {
				dialed, accepted := pair(b, link.Link)
				var echo sync.WaitGroup
				echo.Go(func() {
					_, _ = io.CopyBuffer(struct{ io.Writer }{accepted}, struct{ io.Reader }{accepted}, make([]byte, 100))
				})
				p := make([]byte, 100)
				for range b.N {
					_, _ = dialed.Write(p)
					_, _ = io.ReadFull(dialed, p)
				}
				_ = dialed.Close()
				echo.Wait()
			})
		})
	}
}

// BenchmarkThroughput writes 32 KiB at a time as fast as the reader reads.
func BenchmarkThroughput(b *testing.B) {
	p := make([]byte, 32<<10)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	fake(b, func() {
		dialed, accepted := pair(b, simnet.Link{})
		go func() {
			_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{accepted}, make([]byte, len(p)))
		}()
		for range b.N {
			_, _ = dialed.Write(p)
		}
		_ = dialed.Close()
	})
}
