package sim_test

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

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
