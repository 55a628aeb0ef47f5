package simnet

import (
	"context"
	"io"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPartitionWakesReadersThatWait(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		n.Partition("client", "server")
		mustWrite(t, client, "first ")
		go func() {
			time.Sleep(100 * ms)
			_, _ = client.Write([]byte("second"))
			n.Heal("client", "server")
		}()
		require.Equal(t, retransmitMin+10*ms, elapsed(func() { requireRead(t, server, "first second") }),
			"the patience of TCP counts from the first loss")
	})
}

func TestPartitionConcernsNobodyElse(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		listener := listen(t, n)
		other, server := dialAndAccept(t, n, "other", listener)
		n.Partition("client", "server")
		mustWrite(t, other, "x")
		require.Equal(t, 10*ms, elapsed(func() { requireRead(t, server, "x") }))
	})
}

func TestPartitionFillsTheBuffer(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		n.Partition("client", "server")
		var wait sync.WaitGroup
		wait.Go(func() {
			count, err := client.Write(make([]byte, 2*StreamBuffer))
			assert.NoError(t, err)
			assert.Equal(t, 2*StreamBuffer, count)
		})
		synctest.Wait()
		require.EqualValues(t, StreamBuffer, n.Stats().Sent)
		n.Heal("client", "server")
		_, err := io.ReadFull(server, make([]byte, 2*StreamBuffer))
		require.NoError(t, err)
		wait.Wait()
	})
}

func TestWhatIsStoppedTakesNoBandwidth(t *testing.T) {
	faults := map[string]func(*Network){
		"partition":  func(n *Network) { n.Partition("client", "server") },
		"black hole": func(n *Network) { n.BlackHole("client", "server") },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{Default: Link{Bandwidth: 1000}}, func(t *testing.T, n *Network) {
				client, server := connect(t, n)
				other, otherServer := connect(t, n)
				mustWrite(t, other, string(make([]byte, 100_000))) // needs 100 s
				fault(n)
				require.NoError(t, other.Close())
				require.NoError(t, otherServer.Close())
				n.Heal("client", "server")
				mustWrite(t, client, "x")
				require.Equal(t, ms, elapsed(func() { requireRead(t, server, "x") }))
			})
		})
	}
}

func TestRetransmissionsAreNeverFurtherApartThanConfigured(t *testing.T) {
	config := latency(10 * ms)
	config.RetransmitMax = 2 * time.Second
	inBubble(t, config, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		n.Partition("client", "server")
		mustWrite(t, client, "x")
		time.Sleep(time.Hour)
		n.Heal("client", "server")
		require.LessOrEqual(t, elapsed(func() { requireRead(t, server, "x") }), 2*time.Second+10*ms)
	})
}

func TestResetLink(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		listener := listen(t, n)
		other, otherServer := dialAndAccept(t, n, "other", listener)

		mustWrite(t, server, "arrived")
		time.Sleep(10 * ms)
		mustWrite(t, server, "under way")
		var wait sync.WaitGroup
		waits(t, &wait, server.Read, make([]byte, 1), syscall.ECONNRESET)
		waits(t, &wait, server.Write, make([]byte, 2*StreamBuffer), syscall.ECONNRESET)
		synctest.Wait()
		n.ResetLink("server", "client")
		wait.Wait()
		requireRead(t, client, "arrived")
		requireReadError(t, client, syscall.ECONNRESET)
		requireWriteError(t, client, syscall.ECONNRESET)
		require.Equal(t, 1, n.Stats().Resets)

		mustWrite(t, other, "untouched")
		requireRead(t, otherServer, "untouched")
	})
}

func TestCrashHost(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		listener := listen(t, n)
		client, server := dialAndAccept(t, n, "client", listener)
		waiting, err := n.DialContext(t.Context(), "client", "tcp", "server:1")
		require.NoError(t, err)
		defer waiting.Close()

		mustWrite(t, server, "under way")
		var wait sync.WaitGroup
		waits(t, &wait, client.Write, make([]byte, 2*StreamBuffer), syscall.ECONNRESET)
		synctest.Wait()
		n.CrashHost("server")
		require.Equal(t, 10*ms, elapsed(func() {
			requireRead(t, client, "under way")
			requireReadError(t, client, syscall.ECONNRESET)
			wait.Wait()
		}))
		requireWriteError(t, client, syscall.ECONNRESET)
		requireReadError(t, waiting, syscall.ECONNRESET)
		require.Equal(t, 2, n.Stats().Resets)

		require.Equal(t, 20*ms, elapsed(func() {
			_, err = n.DialContext(t.Context(), "client", "tcp", "server:1")
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		}))
		again, err := n.Listen("server", "tcp", ":1")
		require.NoError(t, err, "the address is free")
		defer again.Close()
		client, server = dialAndAccept(t, n, "client", again)
		mustWrite(t, client, "back")
		requireRead(t, server, "back")
	})
}

func TestCrashDoesNotWakeTheDead(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		listener := listen(t, n)
		client, server := dialAndAccept(t, n, "client", listener)
		woken := make(chan string, 3)
		go func() { _, _ = listener.Accept(); woken <- "Accept" }()
		go func() { _, _ = server.Read(make([]byte, 1)); woken <- "Read" }()
		go func() { _, _ = server.Write(make([]byte, 2*StreamBuffer)); woken <- "Write" }()
		synctest.Wait()

		n.CrashHost("server")
		_, _ = client.Write([]byte("x"))
		_, _ = io.ReadAll(client)
		require.NoError(t, client.Close())
		time.Sleep(time.Hour)
		require.Empty(t, woken)
		require.Empty(t, n.conns)

		// In this test the dead must leave the bubble.
		require.Error(t, listener.Close())
		require.Error(t, server.Close())
		for range 3 {
			<-woken
		}
	})
}

func TestCrashLeavesNoTimerOfTheDead(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		go func() {
			_, _ = client.Read(make([]byte, 1))
			_, _ = client.Read(make([]byte, 1))
		}()
		synctest.Wait()
		mustWrite(t, server, "x") // arms the reader's timer
		before := client.in.reads.timer
		require.NotNil(t, before)
		n.CrashHost("server")
		synctest.Wait()
		require.NotSame(t, before, client.in.reads.timer)
	})
}

func TestCrashOfAHostThatTalksToItself(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		listener := listen(t, n)
		dialed, accepted := dialAndAccept(t, n, "server", listener)
		woken := make(chan string, 2)
		go func() { _, _ = dialed.Read(make([]byte, 1)); woken <- "dialed" }()
		go func() { _, _ = accepted.Read(make([]byte, 1)); woken <- "accepted" }()
		synctest.Wait()
		n.CrashHost("server")
		synctest.Wait()
		require.Empty(t, woken)
		require.Empty(t, n.conns)
		_, _ = dialed.Close(), accepted.Close()
		<-woken
		<-woken
	})
}

func TestRefuse(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		listener := listen(t, n)
		client, server := dialAndAccept(t, n, "client", listener)
		n.Refuse("server", true)
		_, err := n.DialContext(context.Background(), "client", "tcp", "server:1")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		mustWrite(t, client, "still works")
		requireRead(t, server, "still works")
		n.Refuse("server", false)
		dialAndAccept(t, n, "client", listener)
		require.Equal(t, 1, n.Stats().Refused)
	})
}
