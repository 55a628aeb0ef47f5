package sim_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// TestCrashedProcessDoesNothingMore lets a process count by every means a
// goroutine can be brought to run by, and crashes it at an arbitrary instant.
func TestCrashedProcessDoesNothingMore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		crashAt := time.Duration(rapid.IntRange(0, int(3*time.Second)).Draw(r, "crash at"))
		type counts struct {
			Victim [6]int64
			Locked int64 // by its neighbours
		}
		type both struct{ AtCrash, Later counts }
		found, _ := isolate.Value(t, sim.Config{Source: sim.FromSeed(seed), Schedule: sim.DefaultSchedule}, func(w *sim.World) both {
			var counted [6]atomic.Int64
			var locked atomic.Int64
			now := func() (c counts) {
				for i := range counted {
					c.Victim[i] = counted[i].Load()
				}
				c.Locked = locked.Load()
				return c
			}
			victim := w.Process("victim")
			victim.Go(func() { // sleeping
				for {
					time.Sleep(10 * time.Millisecond)
					counted[0].Add(1)
				}
			})
			victim.Go(func() { // a ticker
				for range time.Tick(7 * time.Millisecond) {
					counted[1].Add(1)
				}
			})
			victim.Go(func() { // timers with a callback
				var again func()
				again = func() {
					counted[2].Add(1)
					time.AfterFunc(5*time.Millisecond, again)
				}
				again()
			})
			fromOutside := make(chan int)
			victim.Go(func() { // a channel that a living process sends to
				for range fromOutside {
					counted[3].Add(1)
				}
			})
			var shared sync.Mutex
			victim.Go(func() { // a mutex that a living process uses too
				for {
					shared.Lock()
					counted[4].Add(1)
					shared.Unlock()
					time.Sleep(3 * time.Millisecond)
				}
			})
			victim.Go(func() { // goroutines that start goroutines
				var spawn func()
				spawn = func() {
					counted[5].Add(1)
					time.Sleep(4 * time.Millisecond)
					go spawn()
				}
				spawn()
			})
			for range 3 {
				w.Process("neighbour").Go(func() {
					for {
						shared.Lock()
						locked.Add(1)
						shared.Unlock()
						select {
						case fromOutside <- 1:
						case <-time.After(2 * time.Millisecond):
						}
					}
				})
			}
			time.Sleep(crashAt)
			victim.Crash()
			atCrash := now()
			time.Sleep(20 * time.Second)
			w.Settle()
			return both{atCrash, now()}
		})
		require.Equal(r, found.AtCrash.Victim, found.Later.Victim)
		require.Greater(r, found.Later.Locked, found.AtCrash.Locked, "the dead must not keep a lock from the living")
	})
}

func TestCrashResetsConnections(t *testing.T) {
	isolate.Run(t, sim.Config{Source: sim.FromSeed(5), Schedule: sim.DefaultSchedule}, func(t testing.TB, w *sim.World) {
		server := w.Process("server")
		listening := make(chan struct{})
		server.Go(func() {
			listener, err := net.Listen("tcp", "server:80")
			require.NoError(t, err)
			close(listening)
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(conn, conn) }()
			}
		})
		<-listening
		w.Process("client").Do(func() {
			conn, err := net.Dial("tcp", "server:80")
			require.NoError(t, err)
			_, err = conn.Write([]byte("hello"))
			require.NoError(t, err)
			var echo [5]byte
			_, err = io.ReadFull(conn, echo[:])
			require.NoError(t, err)
			require.Equal(t, "hello", string(echo[:]))

			crashed := make(chan struct{})
			go func() {
				defer close(crashed)
				_, err = conn.Read(echo[:])
			}()
			w.Process("operator").Go(server.Crash)
			<-crashed
			require.ErrorIs(t, err, syscall.ECONNRESET)
			_, err = net.Dial("tcp", "server:80")
			require.True(t, errors.Is(err, syscall.ECONNREFUSED), "%v", err)
		})
		require.False(t, server.Do(func() { t.Error("a crashed process must not run anything") }))
	})
}
