package simnet

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWithoutLatencyNoTimePasses(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		require.Zero(t, elapsed(func() {
			client, server := connect(t, n)
			for range 100 {
				mustWrite(t, client, "ping")
				requireRead(t, server, "ping")
				mustWrite(t, server, "pong")
				requireRead(t, client, "pong")
			}
			require.Nil(t, server.in.reads.timer, "an instant link needs no timer")
		}))
	})
}

func TestReaderIsWokenByWriter(t *testing.T) {
	for _, d := range []time.Duration{0, 10 * ms} {
		inBubble(t, latency(d), func(t *testing.T, n *Network) {
			client, server := connect(t, n)
			go func() {
				time.Sleep(time.Second)
				_, _ = client.Write([]byte("late"))
			}()
			require.Equal(t, time.Second+d, elapsed(func() { requireRead(t, server, "late") }))
		})
	}
}

func TestEachOfManyReadersGetsItsByte(t *testing.T) {
	for _, d := range []time.Duration{0, ms} {
		inBubble(t, latency(d), func(t *testing.T, n *Network) {
			client, server := connect(t, n)
			const readers = 8
			var mu sync.Mutex
			var got []byte
			var wait sync.WaitGroup
			for range readers {
				wait.Go(func() {
					p := make([]byte, 1)
					_, err := server.Read(p)
					assert.NoError(t, err)
					mu.Lock()
					defer mu.Unlock()
					got = append(got, p[0])
				})
			}
			synctest.Wait()
			mustWrite(t, client, "abcdefgh")
			wait.Wait()
			require.ElementsMatch(t, []byte("abcdefgh"), got)
		})
	}
}

func TestConcurrentWritesDoNotMix(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		const size = 3 * StreamBuffer
		var wait sync.WaitGroup
		for i := range 3 {
			wait.Go(func() {
				_, err := client.Write(bytes.Repeat([]byte{'a' + byte(i)}, size))
				assert.NoError(t, err)
			})
		}
		p := make([]byte, 3*size)
		_, err := io.ReadFull(server, p)
		require.NoError(t, err)
		wait.Wait()
		for block := range 3 {
			part := p[block*size : (block+1)*size]
			require.Equal(t, size, bytes.Count(part, part[:1]), "block %d is of one writer", block)
		}
	})
}

func TestWriteWaitsForTheReader(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		_, err := client.Write(make([]byte, StreamBuffer))
		require.NoError(t, err, "there is room for as much")

		require.NoError(t, client.SetWriteDeadline(time.Now().Add(time.Minute)))
		count, err := client.Write(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Zero(t, count)
		require.NoError(t, client.SetWriteDeadline(time.Time{}))

		go func() {
			time.Sleep(time.Second)
			_, _ = io.ReadFull(server, make([]byte, StreamBuffer))
		}()
		require.Equal(t, time.Second, elapsed(func() { mustWrite(t, client, "more") }))
		requireRead(t, server, "more")
	})
}

func TestWriteThatTimesOutSaysHowMuchItWrote(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		require.NoError(t, client.SetWriteDeadline(time.Now().Add(time.Second)))
		count, err := client.Write(make([]byte, StreamBuffer+1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, StreamBuffer, count)
		require.NoError(t, client.Close())
		rest, err := io.ReadAll(server)
		require.NoError(t, err)
		require.Len(t, rest, StreamBuffer)
	})
}

// Where connections have patience, each call that waits has the whole of it.
func TestPatience(t *testing.T) {
	config := latency(10 * ms)
	config.Patience = func(string) time.Duration { return time.Second }
	inBubble(t, config, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		for _, end := range []*Conn{client, server} {
			for range 2 {
				var err error
				require.Equal(t, time.Second, elapsed(func() { _, err = end.Read(make([]byte, 1)) }))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			}
		}
		for _, end := range []*Conn{client, server} {
			var err error
			require.Equal(t, time.Second, elapsed(func() { _, err = end.Write(make([]byte, 2*StreamBuffer)) }))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}
		_, err := client.Read(make([]byte, 1))
		require.NoError(t, err, "what had arrived is there")
	})
}

func TestDeadlines(t *testing.T) {
	read := func(c *Conn) error { _, err := c.Read(make([]byte, 1)); return err }
	write := func(c *Conn) error { _, err := c.Write(make([]byte, 2*StreamBuffer)); return err }
	future := func() time.Time { return time.Now().Add(time.Second) }
	past := func() time.Time { return time.Unix(1, 0) }
	tests := []struct {
		name string
		call func(*Conn) error
		// set is called before the call, and later, if not nil, when the call
		// has waited for half a second.
		set, later func(*Conn) error
		after      time.Duration // when the call times out; 0: at once; -1: never
	}{
		{"read, future", read, func(c *Conn) error { return c.SetReadDeadline(future()) }, nil, time.Second},
		{"read, past", read, func(c *Conn) error { return c.SetReadDeadline(past()) }, nil, 0},
		{"read, both set", read, func(c *Conn) error { return c.SetDeadline(future()) }, nil, time.Second},
		{"read, only write set", read, func(c *Conn) error { return c.SetWriteDeadline(future()) }, nil, -1},
		{"read, past while waiting", read, nil, func(c *Conn) error { return c.SetReadDeadline(past()) }, 500 * ms},
		{"read, future while waiting", read, nil, func(c *Conn) error { return c.SetReadDeadline(future()) }, 1500 * ms},
		{"read, moved later while waiting", read, func(c *Conn) error { return c.SetReadDeadline(future()) },
			func(c *Conn) error { return c.SetReadDeadline(future()) }, 1500 * ms},
		{"read, moved earlier while waiting", read, func(c *Conn) error { return c.SetReadDeadline(time.Now().Add(time.Hour)) },
			func(c *Conn) error { return c.SetReadDeadline(future()) }, 1500 * ms},
		{"read, lifted while waiting", read, func(c *Conn) error { return c.SetReadDeadline(future()) },
			func(c *Conn) error { return c.SetReadDeadline(time.Time{}) }, -1},
		{"write, future", write, func(c *Conn) error { return c.SetWriteDeadline(future()) }, nil, time.Second},
		{"write, past", write, func(c *Conn) error { return c.SetWriteDeadline(past()) }, nil, 0},
		{"write, both set", write, func(c *Conn) error { return c.SetDeadline(future()) }, nil, time.Second},
		{"write, only read set", write, func(c *Conn) error { return c.SetReadDeadline(future()) }, nil, -1},
		{"write, past while waiting", write, nil, func(c *Conn) error { return c.SetWriteDeadline(past()) }, 500 * ms},
		{"write, lifted while waiting", write, func(c *Conn) error { return c.SetWriteDeadline(future()) },
			func(c *Conn) error { return c.SetWriteDeadline(time.Time{}) }, -1},
	}
	for _, test := range tests {
		for _, d := range []time.Duration{0, 10 * ms} {
			t.Run(test.name, func(t *testing.T) {
				inBubble(t, latency(d), func(t *testing.T, n *Network) {
					client, _ := connect(t, n)
					if test.set != nil {
						require.NoError(t, test.set(client))
					}
					const patience = time.Minute
					var err error
					var took time.Duration
					var wait sync.WaitGroup
					wait.Go(func() { took = elapsed(func() { err = test.call(client) }) })
					time.Sleep(500 * ms)
					if test.later != nil {
						require.NoError(t, test.later(client))
					}
					time.Sleep(patience)
					if test.after < 0 {
						require.NoError(t, client.Close())
						wait.Wait()
						require.ErrorIs(t, err, net.ErrClosed)
						return
					}
					wait.Wait()
					require.ErrorIs(t, err, os.ErrDeadlineExceeded)
					var timeout net.Error
					require.ErrorAs(t, err, &timeout)
					require.True(t, timeout.Timeout())
					require.Equal(t, test.after, took)
				})
			})
		}
	}
}

func TestClosedConnectionsRefuseCalls(t *testing.T) {
	inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		require.NoError(t, client.Close())
		requireReadError(t, client, net.ErrClosed)
		requireWriteError(t, client, net.ErrClosed)
		require.ErrorIs(t, client.Close(), net.ErrClosed)
		require.ErrorIs(t, client.CloseWrite(), net.ErrClosed)
		require.ErrorIs(t, client.CloseRead(), net.ErrClosed)
		require.ErrorIs(t, client.SetDeadline(time.Time{}), net.ErrClosed)
		time.Sleep(20 * ms)
		require.NoError(t, server.Close())
		require.Empty(t, n.conns, "nothing is kept of a connection that is over")
	})
}

func TestCloseWakesWaitingCalls(t *testing.T) {
	for _, d := range []time.Duration{0, 10 * ms} {
		for name, row := range map[string]struct {
			end         int // that is closed
			read, write error
			within      time.Duration
		}{
			"of this end":  {0, net.ErrClosed, net.ErrClosed, 0},
			"of the other": {1, io.EOF, syscall.EPIPE, 2 * d},
		} {
			t.Run(name, func(t *testing.T) {
				inBubble(t, latency(d), func(t *testing.T, n *Network) {
					client, server := connect(t, n)
					var wait sync.WaitGroup
					for range 3 {
						waits(t, &wait, client.Read, make([]byte, 1), row.read)
						waits(t, &wait, client.Write, make([]byte, 2*StreamBuffer), row.write)
					}
					synctest.Wait()
					time.Sleep(time.Second)
					require.NoError(t, []*Conn{client, server}[row.end].Close())
					require.LessOrEqual(t, elapsed(wait.Wait), row.within)
				})
			})
		}
	}
}

func TestCloseReadThrowsAway(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		var wait sync.WaitGroup
		wait.Go(func() {
			_, err := client.Write(make([]byte, 4*StreamBuffer))
			assert.NoError(t, err, "nothing limits what is thrown away")
		})
		synctest.Wait()
		require.NoError(t, server.CloseRead())
		wait.Wait()
		requireReadError(t, server, io.EOF)
		mustWrite(t, client, "ignored")
		requireReadError(t, server, io.EOF)
		mustWrite(t, server, "still works")
		requireRead(t, client, "still works")
	})
}

func TestCloseReadWakesWaitingReads(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		_, server := connect(t, n)
		go func() {
			time.Sleep(time.Second)
			_ = server.CloseRead()
		}()
		require.Equal(t, time.Second, elapsed(func() { requireReadError(t, server, io.EOF) }))
	})
}

func TestErrorsAreThoseOfPackageNet(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		require.NoError(t, client.Close())
		_, err := client.Read(nil)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, "read tcp client:30000->server:30000: use of closed network connection", err.Error())
		require.Equal(t, client.LocalAddr(), op.Source)
		require.Equal(t, client.RemoteAddr(), op.Addr)

		_, err = server.Read(make([]byte, 1))
		require.True(t, err == io.EOF, "io.EOF is never wrapped")
		require.NoError(t, server.CloseWrite())
		_, err = server.Write([]byte("x"))
		require.Equal(t, "write tcp server:30000->client:30000: write: broken pipe", err.Error())
		require.False(t, errors.Is(err, os.ErrDeadlineExceeded))
	})
}

func TestReadOfNothingDoesNotWait(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		client, _ := connect(t, n)
		count, err := client.Read(nil)
		require.NoError(t, err)
		require.Zero(t, count)
	})
}

// TestFillerIsSentLikeBytes compares bytes that somebody looks at with bytes that nobody
// does, on a slow link and through a full buffer.
func TestFillerIsSentLikeBytes(t *testing.T) {
	const size = 2*StreamBuffer + 1000
	type arrival struct {
		at    time.Duration
		count int
	}
	transfer := func(write func(*Conn) (int, error), read func(*Conn) (int, error)) (arrivals []arrival) {
		inBubble(t, Config{Default: Link{Latency: fixed(3 * ms), Bandwidth: 1 << 20}}, func(t *testing.T, n *Network) {
			client, server := connect(t, n)
			begin := time.Now()
			go func() {
				count, err := write(client)
				require.NoError(t, err)
				require.Equal(t, size, count)
				require.NoError(t, client.CloseWrite())
			}()
			for {
				count, err := read(server)
				if err == io.EOF {
					return
				}
				require.NoError(t, err)
				arrivals = append(arrivals, arrival{time.Since(begin), count})
			}
		})
		return arrivals
	}
	buffer := make([]byte, 10_000)
	writeBytes := func(c *Conn) (int, error) { return c.Write(make([]byte, size)) }
	writeFiller := func(c *Conn) (int, error) { return c.WriteFilled(make([]byte, 12), size-12) }
	readBytes := func(c *Conn) (int, error) { return c.Read(buffer) }
	discard := func(c *Conn) (int, error) { return c.Discard(len(buffer)) }

	want := transfer(writeBytes, readBytes)
	require.Greater(t, len(want), size/len(buffer))
	require.Equal(t, want, transfer(writeFiller, readBytes))
	require.Equal(t, want, transfer(writeBytes, discard))
	require.Equal(t, want, transfer(writeFiller, discard))
}
