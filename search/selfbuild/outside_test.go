package selfbuild_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/sim/overlay"
)

// outside is a test of another module: two goroutines, a simulated hour.
const outside = `package outside

import (
	"testing"
	"time"

	"github.com/watchsim/watchsim/sim"
)

func TestAnHour(t *testing.T) {
	began := time.Now()
	result, err := sim.Run(sim.Config{Source: sim.FromSeed(7), Limits: sim.Limits{Simulated: 2 * time.Hour}}, func(world *sim.World) {
		done := make(chan time.Duration)
		go func() {
			time.Sleep(time.Hour)
			done <- world.Now()
		}()
		if now := <-done; now < time.Hour {
			t.Errorf("expected an hour to have passed, found %v", now)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); result.Stop != sim.Completed || took > time.Minute {
		t.Fatalf("%s after %v", result.Stop, took)
	}
}
`

// A module that requires this project simulates with only the overlay: no flag but -overlay, and no
// generated go.mod.
func TestAnotherModuleSimulatesWithTheOverlayAlone(t *testing.T) {
	source, err := selfbuild.Source()
	require.NoError(t, err)
	toolchain, err := overlay.Installed()
	require.NoError(t, err)
	made, err := overlay.Write(toolchain, overlay.Project{Dir: source}, filepath.Join(t.TempDir(), "overlay"))
	require.NoError(t, err)
	require.Empty(t, made.ModFile)

	module := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(source, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(module, "go.sum"), sums, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(module, "outside_test.go"), []byte(outside), 0o600))
	run := func(arguments ...string) (string, error) {
		command := exec.Command("go", arguments...)
		command.Dir = module
		command.Env = append(os.Environ(), "GOMAXPROCS=1", "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOPROXY=off")
		out, err := command.CombinedOutput()
		return string(out), err
	}
	out, err := run("mod", "init", "example.com/outside")
	require.NoError(t, err, out)
	out, err = run("mod", "edit", "-require", "github.com/watchsim/watchsim@v0.0.0", "-replace", "github.com/watchsim/watchsim="+source)
	require.NoError(t, err, out)

	out, err = run("test", "-count=1", "-overlay="+made.Overlay, ".")
	require.NoError(t, err, out)

	out, err = run("test", "-count=1", ".")
	require.Error(t, err)
	require.Contains(t, out, "this binary was built without watchsim's toolchain overlay")
}
