package simnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// step is one thing that happens to a connection, some time after the last.
type step struct {
	After time.Duration
	Kind  string
	Size  int
}

// script is a drawn life of one connection.
type script struct {
	Seed    uint64
	Link    Link
	ReadMax int // the size of the reader's buffer
	Pause   time.Duration
	Steps   []step
}

func drawScript(t *rapid.T) script {
	duration := func(label string, limit time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(limit)).Draw(t, label))
	}
	kinds := []string{
		"write", "write", "write", "filled write", "filled write", "partition", "partition one way", "heal", "heal",
		"latency", "bandwidth", "black hole", "reset", "close", "close write", "crash", "deadline",
	}
	return script{
		Seed: rapid.Uint64().Draw(t, "seed"),
		Link: Link{
			Latency:   Latency{Min: duration("min", 20*ms), Max: duration("max", 50*ms), TailProbability: 0.1, Tail: duration("tail", time.Second)},
			Bandwidth: rapid.SampledFrom([]int64{0, 0, 10_000, 1 << 20}).Draw(t, "bandwidth"),
		},
		ReadMax: rapid.IntRange(1, 100_000).Draw(t, "readMax"),
		Pause:   duration("pause", 20*ms),
		Steps: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{duration("after", 100*ms), rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(0, 40_000).Draw(t, "size")}
		}), 1, 40).Draw(t, "steps"),
	}
}

// life is the result of a script.
type life struct {
	sent     []byte // what Write took
	received []byte
	readErr  error // why the reader ended

	lossy    bool // something reset the connection or lost bytes
	finished bool // the writer ended the stream in good order
	ended    time.Duration
}

// live plays a script: one goroutine writes and makes faults, one reads.
func live(s script) (l life) {
	n := New(Config{Rand: func(name string) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, uint64(len(name)))) }, Default: s.Link})
	begin := time.Now()
	listener, _ := n.Listen("server", "unix", "socket")
	dialed, _ := n.DialContext(context.Background(), "client", "unix", "socket")
	accepted, _ := listener.Accept()
	client, server := dialed.(*Conn), accepted.(*Conn)

	read := make(chan struct{})
	go func() {
		defer close(read)
		p := make([]byte, s.ReadMax)
		for l.readErr == nil {
			var count int
			count, l.readErr = server.Read(p)
			l.received = append(l.received, p[:count]...)
			time.Sleep(s.Pause)
		}
	}()
	next := byte(0)
	for _, step := range s.Steps {
		time.Sleep(step.After)
		switch step.Kind {
		case "write":
			p := make([]byte, step.Size)
			for i := range p {
				p[i] = next
				next = next*31 + 7
			}
			// A full buffer behind a partition would wait for ever.
			_ = client.SetWriteDeadline(time.Now().Add(time.Minute))
			count, err := client.Write(p)
			l.sent = append(l.sent, p[:count]...)
			if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
				next = 0
				if count > 0 {
					next = p[count-1]*31 + 7
				}
			}
		case "filled write":
			_ = client.SetWriteDeadline(time.Now().Add(time.Minute))
			p := []byte{next}
			count, err := client.WriteFilled(p, step.Size)
			if count > 0 {
				next = next*31 + 7
				l.sent = append(append(l.sent, p...), make([]byte, count-1)...)
			}
			if err == nil && count != 1+step.Size {
				panic("a write of less than all of it succeeded")
			}
		case "partition":
			n.Partition("client", "server")
		case "partition one way":
			n.PartitionOneWay("client", "server")
		case "heal":
			n.Heal("client", "server")
		case "latency":
			n.SetLatency("client", "server", fixed(time.Duration(step.Size)*time.Microsecond))
		case "bandwidth":
			n.SetBandwidth("client", "server", int64(step.Size))
		case "black hole":
			n.BlackHole("client", "server")
			l.lossy = true
		case "reset":
			n.ResetLink("client", "server")
			l.lossy = true
		case "close":
			l.finished = client.Close() == nil || l.finished
		case "close write":
			l.finished = client.CloseWrite() == nil || l.finished
		case "crash":
			n.CrashHost("client")
			l.lossy = true
		case "deadline":
			_ = client.SetDeadline(time.Unix(1, 0))
		}
	}
	n.Heal("client", "server")
	l.finished = client.CloseWrite() == nil || l.finished
	// The longest retransmission, and all that the buffer holds at the lowest
	// bandwidth, a byte a second.
	select {
	case <-read:
	case <-time.After(120*time.Second + 2*StreamBuffer*time.Second):
	}
	l.ended = time.Since(begin)
	_, _, _ = listener.Close(), client.Close(), server.Close()
	<-read
	return l
}

// check returns what is wrong with a life.
func (l life) check() error {
	if !bytes.HasPrefix(l.sent, l.received) {
		return fmt.Errorf("%d bytes received are not the first of the %d sent", len(l.received), len(l.sent))
	}
	if errors.Is(l.readErr, io.EOF) && len(l.received) != len(l.sent) {
		return fmt.Errorf("the stream ended in good order after %d of %d bytes", len(l.received), len(l.sent))
	}
	if !l.lossy && !errors.Is(l.readErr, io.EOF) {
		return fmt.Errorf("nothing was lost, and yet the reader ended with: %w", l.readErr)
	}
	if l.lossy && !errors.Is(l.readErr, io.EOF) && !errors.Is(l.readErr, syscall.ECONNRESET) && l.ended < 120*time.Second {
		return fmt.Errorf("unexpected end: %w", l.readErr)
	}
	return nil
}

func TestBytesArriveOnceAndInOrderOrTheConnectionFails(t *testing.T) {
	ends := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt)
		var first, second life
		synctest.Test(t, func(*testing.T) { first = live(s) })
		synctest.Test(t, func(*testing.T) { second = live(s) })
		require.NoError(rt, first.check())
		require.Equal(rt, first, second, "the same script is the same life")
		ends[fmt.Sprint(errors.Is(first.readErr, io.EOF), errors.Is(first.readErr, syscall.ECONNRESET), len(first.received) > 0)]++
	})
	require.Greater(t, ends["true false true"], 0, "some streams end in good order")
	require.Greater(t, ends["false true true"], 0, "some are reset half-way")
}

// TestByteQueue compares the ring with a plain slice.
func TestByteQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q byteQueue
		var want []byte
		next := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				p := make([]byte, rapid.IntRange(0, StreamBuffer+1).Draw(t, "size"))
				for i := range p {
					p[i] = next
					next++
				}
				fill := rapid.SampledFrom([]int{0, 1, 1000, StreamBuffer}).Draw(t, "fill")
				taken := q.write(p, fill)
				require.Equal(t, min(len(p)+fill, StreamBuffer-len(want)), taken)
				content := min(taken, len(p))
				next -= byte(len(p) - content)
				want = append(append(want, p[:content]...), make([]byte, taken-content)...)
			},
			"read": func(t *rapid.T) {
				p := make([]byte, rapid.IntRange(0, len(want)).Draw(t, "size"))
				for i := range p {
					p[i] = 0xff
				}
				q.read(p)
				require.True(t, bytes.Equal(want[:len(p)], p))
				want = want[len(p):]
			},
			"skip": func(t *rapid.T) {
				size := rapid.IntRange(0, len(want)).Draw(t, "size")
				q.skip(size)
				want = want[size:]
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(want), q.size)
				require.LessOrEqual(t, len(q.data), StreamBuffer)
				require.LessOrEqual(t, q.kept, q.size)
			},
		})
	})
}

// TestSegmentQueue compares the queue with a plain slice.
func TestSegmentQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q segmentQueue
		var want []segment
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				s := segment{1, int64(rapid.IntRange(0, 3).Draw(t, "later"))}
				if len(want) > 0 {
					last := &want[len(want)-1]
					s.arriveAt += last.arriveAt
					if s.arriveAt == last.arriveAt {
						last.size++
						q.push(s)
						return
					}
				}
				want = append(want, s)
				q.push(s)
			},
			"pop": func(t *rapid.T) {
				if len(want) > 0 {
					require.Equal(t, want[0], *q.front())
					want = want[1:]
					q.pop()
				}
			},
			"cut": func(t *rapid.T) {
				if len(want) == 0 {
					return
				}
				now := want[0].arriveAt + int64(rapid.IntRange(0, 20).Draw(t, "now"))
				segments, size := 0, 0
				for len(want) > 0 && want[len(want)-1].arriveAt > now {
					segments++
					size += want[len(want)-1].size
					want = want[:len(want)-1]
				}
				gotSegments, gotSize := q.cut(now)
				require.Equal(t, segments, gotSegments)
				require.Equal(t, size, gotSize)
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(want) == 0, q.empty())
				require.Equal(t, want[:len(want):len(want)], append(want[:0:0], q.items[q.start:]...))
			},
		})
	})
}
