package simnet

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDialTakesARoundTrip(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		require.Equal(t, 20*ms, elapsed(func() { connect(t, n) }))
		require.Equal(t, Stats{Dials: 1, Connections: 1}, n.Stats())
	})
}

func TestDialErrors(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
	background := context.Background
	tests := []struct {
		name    string
		prepare func(n *Network, l net.Listener)
		ctx     func() context.Context
		network string
		address string
		want    error
		timeout bool
		after   time.Duration
	}{
		{"nobody ever listened", nil, background, "tcp", "nowhere:1", syscall.ECONNREFUSED, false, 0},
		{"other name space", nil, background, "unix", "server:1", syscall.ECONNREFUSED, false, 0},
		{"nobody listens any more", func(_ *Network, l net.Listener) { l.Close() },
			background, "tcp", "server:1", syscall.ECONNREFUSED, false, 20 * ms},
		{"refused", func(n *Network, _ net.Listener) { n.Refuse("server", true) },
			background, "tcp", "server:1", syscall.ECONNREFUSED, false, 20 * ms},
		{"cancelled before", nil, func() context.Context { return cancelled }, "tcp", "server:1", context.Canceled, false, 0},
		{"context ends under way", func(n *Network, _ net.Listener) { n.SetLatency("client", "server", fixed(time.Hour)) },
			soon, "tcp", "server:1", context.DeadlineExceeded, true, time.Second},
		{"partition, context", func(n *Network, _ net.Listener) { n.Partition("client", "server") },
			soon, "tcp", "server:1", context.DeadlineExceeded, true, time.Second},
		{"partition", func(n *Network, _ net.Listener) { n.Partition("client", "server") },
			background, "tcp", "server:1", syscall.ETIMEDOUT, true, DialTimeout},
		{"partition there", func(n *Network, _ net.Listener) { n.PartitionOneWay("client", "server") },
			background, "tcp", "server:1", syscall.ETIMEDOUT, true, DialTimeout},
		{"partition back", func(n *Network, _ net.Listener) { n.PartitionOneWay("server", "client") },
			background, "tcp", "server:1", syscall.ETIMEDOUT, true, DialTimeout},
		{"black hole", func(n *Network, _ net.Listener) { n.BlackHole("client", "server") },
			background, "tcp", "server:1", syscall.ETIMEDOUT, true, DialTimeout},
		{"partition of a host that is down", func(n *Network, l net.Listener) {
			n.CrashHost("server")
			n.Partition("client", "server")
		}, background, "tcp", "server:1", syscall.ETIMEDOUT, true, DialTimeout},
		{"unknown network", nil, background, "udp", "server:1", net.UnknownNetworkError("udp"), false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
				listener := listen(t, n)
				if test.prepare != nil {
					test.prepare(n, listener)
				}
				var err error
				took := elapsed(func() {
					_, err = n.DialContext(test.ctx(), "client", test.network, test.address)
				})
				require.ErrorIs(t, err, test.want)
				var op *net.OpError
				require.True(t, errors.As(err, &op))
				require.Equal(t, "dial", op.Op)
				require.Equal(t, test.timeout, op.Timeout())
				require.Equal(t, test.after, took)
				stats := n.Stats()
				require.Zero(t, stats.Connections)
				require.Equal(t, stats.Dials, stats.Refused+stats.TimedOut)
			})
		})
	}
}

// A dial that a partition stops is sent again after 1, 3 and 7 s.
func TestDialThroughAPartition(t *testing.T) {
	heal := func(n *Network) func() { return func() { n.Heal("client", "server") } }
	for name, row := range map[string]struct {
		fault func(n *Network)
		want  time.Duration
	}{
		"of seconds": {func(n *Network) {
			n.Partition("client", "server")
			time.AfterFunc(4*time.Second, heal(n))
		}, 7200 * ms},
		"on the way there": {func(n *Network) {
			n.PartitionOneWay("client", "server")
			time.AfterFunc(50*ms, heal(n))
		}, 1200 * ms},
		"that has healed before the answer": {func(n *Network) {
			n.PartitionOneWay("server", "client")
			time.AfterFunc(50*ms, heal(n))
		}, 200 * ms},
		"on the way back": {func(n *Network) {
			time.AfterFunc(150*ms, func() { n.Partition("client", "server") })
			time.AfterFunc(300*ms, heal(n))
		}, 1200 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, latency(100*ms), func(t *testing.T, n *Network) {
				listener := listen(t, n)
				row.fault(n)
				require.Equal(t, row.want, elapsed(func() { dialAndAccept(t, n, "client", listener) }))
			})
		})
	}
}

func TestDialWaitsWhileTheBacklogIsFull(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		listener := listen(t, n)
		for range AcceptBacklog {
			conn, err := n.DialContext(t.Context(), "client", "tcp", "server:1")
			require.NoError(t, err)
			defer conn.Close()
		}
		time.AfterFunc(2*time.Second, func() {
			c, err := listener.Accept()
			if err == nil {
				c.Close()
			}
		})
		require.Equal(t, 3*time.Second, elapsed(func() {
			c, err := n.DialContext(t.Context(), "client", "tcp", "server:1")
			require.NoError(t, err)
			defer c.Close()
		}))
		require.NoError(t, listener.Close())
	})
}

func TestListen(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		tests := []struct{ host, network, address, want string }{
			{"a", "tcp", ":1", "a:1"},
			{"b", "tcp", ":1", "b:1"},
			{"a", "tcp", ":0", "a:30000"},
			{"a", "tcp4", "name:0", "name:30001"},
			{"a", "tcp", "127.0.0.1:0", "127.0.0.1:30002"},
			{"b", "tcp", ":0", "b:30000"},
			{"b", "tcp", "127.0.0.1:80", "127.0.0.1:80"},
			{"a", "unix", "/run/socket", "/run/socket"},
			{"a", "unix", "a:1", "a:1"},
		}
		for _, test := range tests {
			l, err := n.Listen(test.host, test.network, test.address)
			require.NoError(t, err)
			require.Equal(t, test.want, l.Addr().String())
			defer l.Close()

			from, other := "client", "z"
			if strings.HasPrefix(test.want, "127.") {
				from, other = test.host, test.host // each host has a loopback of its own
			}
			conn, err := n.DialContext(t.Context(), from, test.network, test.want)
			require.NoError(t, err)
			defer conn.Close()
			require.Equal(t, l.Addr(), conn.RemoteAddr())
			accepted, err := l.Accept()
			require.NoError(t, err)
			defer accepted.Close()
			require.Equal(t, conn.LocalAddr(), accepted.RemoteAddr())
			require.Equal(t, conn.LocalAddr().Network(), l.Addr().Network())

			_, err = n.Listen(other, test.network, test.want)
			require.ErrorIs(t, err, syscall.EADDRINUSE)
		}
		// From elsewhere, what listens at the loopback is reached by the host's name.
		_, err := n.DialContext(t.Context(), "client", "tcp", "127.0.0.1:80")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		conn, err := n.DialContext(t.Context(), "client", "tcp", "b:80")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		_, err = n.Listen("a", "udp", ":1")
		require.ErrorIs(t, err, net.UnknownNetworkError("udp"))
	})
}

func TestAddressesAreOfNetsTypesWherePossible(t *testing.T) {
	require.Equal(t, &net.UnixAddr{Name: "/run/socket", Net: "unix"}, makeAddr("unix", "/run/socket"))
	require.Equal(t, 2379, makeAddr("tcp", "127.0.0.1:2379").(*net.TCPAddr).Port)
	named := makeAddr("tcp", "etcd-0:2379")
	require.Equal(t, "tcp", named.Network())
	require.Equal(t, "etcd-0:2379", named.String())
}

func TestListenerClose(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		listener := listen(t, n)
		client, server := dialAndAccept(t, n, "client", listener)
		waiting, err := n.DialContext(t.Context(), "client", "tcp", "server:1")
		require.NoError(t, err)
		defer waiting.Close()

		require.NoError(t, listener.Close())
		require.ErrorIs(t, listener.Close(), net.ErrClosed)
		_, err = listener.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
		requireReadError(t, waiting, syscall.ECONNRESET)
		mustWrite(t, client, "accepted connections live on")
		requireRead(t, server, "accepted connections live on")
	})
}

func TestListenerCloseWakesAccepts(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		listener := listen(t, n)
		errs := make(chan error, 3)
		for range 3 {
			go func() { _, err := listener.Accept(); errs <- err }()
		}
		synctest.Wait()
		require.NoError(t, listener.Close())
		for range 3 {
			require.ErrorIs(t, <-errs, net.ErrClosed)
		}
	})
}
