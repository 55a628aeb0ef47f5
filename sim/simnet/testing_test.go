package simnet

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// inBubble runs a test on a fake clock that starts with the network's.
func inBubble(t *testing.T, config Config, test func(t *testing.T, n *Network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, New(config)) })
}

// fixed is the latency that is always d.
func fixed(d time.Duration) Latency { return Latency{Min: d, Max: d} }

// latency is a Config in which every link takes d.
func latency(d time.Duration) Config { return Config{Default: Link{Latency: fixed(d)}} }

// connect makes a connection from host "client" to host "server" and closes
// both ends when the test is over.
func connect(t *testing.T, n *Network) (client, server *Conn) {
	t.Helper()
	listener, err := n.Listen("server", "tcp", ":0")
	require.NoError(t, err)
	defer listener.Close()
	return dialAndAccept(t, n, "client", listener)
}

// listen listens at server:1 until the test is over.
func listen(t *testing.T, n *Network) net.Listener {
	t.Helper()
	listener, err := n.Listen("server", "tcp", ":1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func dialAndAccept(t *testing.T, n *Network, from string, listener net.Listener) (dialed, accepted *Conn) {
	t.Helper()
	c, err := n.DialContext(context.Background(), from, "tcp", listener.Addr().String())
	require.NoError(t, err)
	s, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		_ = s.Close()
	})
	return c.(*Conn), s.(*Conn)
}

func mustWrite(t *testing.T, c net.Conn, text string) {
	t.Helper()
	count, err := c.Write([]byte(text))
	require.NoError(t, err)
	require.Equal(t, len(text), count)
}

// requireRead reads exactly the text.
func requireRead(t *testing.T, c net.Conn, text string) {
	t.Helper()
	p := make([]byte, len(text))
	_, err := io.ReadFull(c, p)
	require.NoError(t, err)
	require.Equal(t, text, string(p))
}

// requireSilence requires that nothing arrives for a time.
func requireSilence(t *testing.T, c net.Conn, d time.Duration) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(d)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.SetReadDeadline(time.Time{}))
}

// requireReadError expects a Read to fail.
func requireReadError(t *testing.T, c net.Conn, want error) {
	t.Helper()
	count, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, want)
	require.Zero(t, count)
}

// requireWriteError expects a Write to fail.
func requireWriteError(t *testing.T, c net.Conn, want error) {
	t.Helper()
	_, err := c.Write([]byte("x"))
	require.ErrorIs(t, err, want)
}

// waits makes a Read or Write wait in a goroutine until it fails.
func waits(t *testing.T, group *sync.WaitGroup, call func([]byte) (int, error), p []byte, want error) {
	group.Go(func() {
		_, err := call(p)
		assert.ErrorIs(t, err, want)
	})
}

// elapsed returns how long f takes on the fake clock.
func elapsed(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
