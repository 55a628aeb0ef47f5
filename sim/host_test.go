package sim_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// TestAWallClockJumpsForItsHostAlone moves a clock: times tell, durations do not.
func TestAWallClockJumpsForItsHostAlone(t *testing.T) {
	isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(t testing.TB, w *sim.World) {
		var before, after, later, elsewhere, successor time.Time
		var passed, slept time.Duration
		host := w.Process("host")
		host.Do(func() { before = time.Now() })
		w.SetClock("host", -time.Hour)
		host.Do(func() {
			after, passed = time.Now(), time.Since(before)
			time.Sleep(time.Second)
			later, slept = time.Now(), time.Since(after)
		})
		elsewhere = time.Now()
		w.Process("host").Do(func() { successor = time.Now() })
		w.SetClock("host", 0)
		host.Do(func() { after = time.Now() })
		require.Zero(t, passed, "a duration is what the monotonic clock says")
		require.Equal(t, time.Second, slept)
		require.Equal(t, time.Second-time.Hour, later.Round(0).Sub(before.Round(0)), "the wall clock says otherwise")
		require.Equal(t, time.Second, elsewhere.Round(0).Sub(before.Round(0)), "other hosts have clocks of their own")
		require.Equal(t, time.Second-time.Hour, successor.Round(0).Sub(before.Round(0)), "the clock is the host's, not the process'")
		require.Equal(t, time.Second, after.Round(0).Sub(before.Round(0)), "it is set right")
	})
}

// TestASyncGoesToTheDiskOfItsHost syncs in both ways that Go has, which is etcd's log's
// and its database's.
func TestASyncGoesToTheDiskOfItsHost(t *testing.T) {
	isolate.Isolated(t, func(t testing.TB) {
		file, err := os.Create(filepath.Join(t.TempDir(), "file"))
		require.NoError(t, err)
		defer file.Close()
		var slow, other time.Duration
		syncs := 0
		isolate.InPlace(t, sim.Config{Source: sim.FromSeed(1)}, func(w *sim.World) {
			w.Disk("slow").SetDelay(time.Second)
			w.Disk("slow").OnSync(func() { syncs++ })
			w.Process("slow").Do(func() { slow = syncTwice(t, file) })
			w.Process("other").Do(func() { other = syncTwice(t, file) })
		})
		require.Equal(t, 2*time.Second, slow)
		require.Zero(t, other)
		require.Equal(t, 2, syncs)
		require.Less(t, syncTwice(t, file), time.Minute, "outside, the operating system syncs")
	})
}

// syncTwice returns how long it takes to sync a file in both ways.
func syncTwice(t testing.TB, file *os.File) time.Duration {
	began := time.Now()
	require.NoError(t, file.Sync())
	require.NoError(t, syscall.Fdatasync(int(file.Fd())))
	return time.Since(began)
}

// A program's requests to the machine, such as setting GOMAXPROCS, stay inside.
func TestAProgramReachesNothingOutside(t *testing.T) {
	isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(t testing.TB, w *sim.World) {
		require.Equal(t, 1, runtime.GOMAXPROCS(4))
		require.Equal(t, 1, runtime.GOMAXPROCS(0))
		require.Equal(t, 1, runtime.NumCPU())

		err := exec.Command("true").Run()
		require.ErrorContains(t, err, "a simulated program cannot start a process")

		for address, want := range map[string]string{
			"example.com:80": "lookup example.com: no such host in the simulation",
			"192.0.2.1:443":  "lookup 192.0.2.1: no such host in the simulation",
			"127.0.0.1:443":  syscall.ECONNREFUSED.Error(),
			"database:5432":  syscall.ECONNREFUSED.Error(),
		} {
			w.Process("database").Do(func() {
				_, err := net.Dial("tcp", address)
				require.ErrorContains(t, err, want)
			})
		}
	})
}

// Programs derive identities from it, such as those of leaders: each host has its own, and none is the machine's.
func TestEachProcessHasAHostname(t *testing.T) {
	isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(t testing.TB, w *sim.World) {
		for _, name := range []string{"one", "other"} {
			w.Process(name).Do(func() {
				host, err := os.Hostname()
				require.NoError(t, err)
				require.Equal(t, name, host)
			})
		}
	})
}
