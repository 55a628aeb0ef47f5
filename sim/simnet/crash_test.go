package simnet_test

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
	"github.com/watchsim/watchsim/sim/simnet"
)

// slow is a network on which every segment takes a second.
var slow = sim.Config{Source: sim.FromSeed(1), Network: simnet.Config{
	Default: simnet.Link{Latency: simnet.Latency{Min: time.Second, Max: time.Second}},
}}

// TestCrashedWriterDoesNotTakeItsReaderAlong crashes a process whose bytes are in flight. It has
// set the timer of the reader that waits for them, and timers set by a crashed process never fire.
func TestCrashedWriterDoesNotTakeItsReaderAlong(t *testing.T) {
	isolate.Run(t, slow, func(t testing.TB, w *sim.World) {
		var got []byte
		var ended error
		var after time.Duration
		done := make(chan struct{})
		w.Process("reader").Go(func() {
			defer close(done)
			listener, err := net.Listen("tcp", "reader:1")
			require.NoError(t, err)
			conn, err := listener.Accept()
			require.NoError(t, err)
			got, ended = io.ReadAll(conn)
			after = w.Now()
		})
		writer := w.Process("writer")
		writer.Go(func() {
			time.Sleep(time.Second)
			conn, err := net.Dial("tcp", "reader:1") // takes 2 s
			require.NoError(t, err)
			time.Sleep(time.Second)
			_, _ = conn.Write([]byte("last words"))
			select {}
		})
		time.Sleep(4500 * time.Millisecond)
		writer.Crash()
		select {
		case <-done:
		case <-time.After(time.Minute):
		}
		require.Equal(t, "last words", string(got))
		require.ErrorIs(t, ended, syscall.ECONNRESET)
		require.Equal(t, 5500*time.Millisecond, after.Truncate(100*time.Millisecond))
	})
}

// TestCrashedPeerDoesNotTakeAWriterAlong is the same for a Write that waits for room when the reset
// that ends it is in flight.
func TestCrashedPeerDoesNotTakeAWriterAlong(t *testing.T) {
	isolate.Run(t, slow, func(t testing.TB, w *sim.World) {
		var ended error
		var after time.Duration
		peer := w.Process("peer")
		peer.Go(func() {
			listener, err := net.Listen("tcp", "peer:1")
			require.NoError(t, err)
			conn, err := listener.Accept() // at 3 s
			require.NoError(t, err)
			time.Sleep(2 * time.Second)
			_ = conn.Close() // at 5 s, with the answer at 6 s
			select {}
		})
		done := make(chan struct{})
		w.Process("writer").Go(func() {
			defer close(done)
			time.Sleep(time.Second)
			conn, err := net.Dial("tcp", "peer:1")
			require.NoError(t, err)
			_, ended = conn.Write(make([]byte, 2*simnet.StreamBuffer))
			after = w.Now()
		})
		time.Sleep(5500 * time.Millisecond)
		peer.Crash()
		select {
		case <-done:
		case <-time.After(time.Minute):
		}
		require.ErrorIs(t, ended, syscall.EPIPE)
		require.Equal(t, 6*time.Second, after.Truncate(100*time.Millisecond))
	})
}
