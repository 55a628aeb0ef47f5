package simtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/overlay"
)

// binary returns the path of a binary of this test that can simulate, which is built if
// need be.
func binary(t *testing.T) (string, error) {
	if simulates && sim.Available() == nil {
		return os.Executable()
	}
	source, err := os.Getwd() // of the package, where the go command runs its tests
	if err != nil {
		return "", err
	}
	toolchain, err := overlay.Installed()
	if err != nil {
		return "", err
	}
	if err := toolchain.Supported(); err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("expected a cache folder for the user: %w; set XDG_CACHE_HOME", err)
	}
	sum := sha256.Sum256([]byte(source))
	dir := filepath.Join(cache, "watchsim", "simtest", hex.EncodeToString(sum[:6]))
	made, err := overlay.Write(toolchain, overlay.Project{Dir: source}, filepath.Join(dir, "overlay"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "simulated.test")
	if _, err := os.Stat(path); err != nil {
		t.Logf("building this test with the toolchain overlay in %s; the first time takes some minutes", dir)
	}
	// The go command that runs this test has vetted it.
	arguments := append([]string{"test", "-c", "-vet=off", "-o", path}, made.Flags()...)
	// No debugger looks into it, and without what one needs it links sooner.
	arguments = append(arguments, "-ldflags=-w", "-tags="+strings.Join(append(tags(), tag), ","))
	build := exec.Command("go", append(arguments, ".")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build this test with the toolchain overlay: %w\n%s", err, beginning(string(out)))
	}
	return path, nil
}

// maxBuildLines is how many lines of what a build says are shown.
const maxBuildLines = 20

// beginning returns the first lines of a text, and says if there are more.
func beginning(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if left := len(lines) - maxBuildLines; left > 0 {
		lines = append(lines[:maxBuildLines], fmt.Sprintf("and %d lines more", left))
	}
	return strings.Join(lines, "\n")
}

// tag is the build tag of binaries that simulate.
const tag = "watchsim"

// tags are the build tags that this test was built with.
func tags() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, setting := range info.Settings {
		if setting.Key == "-tags" {
			return strings.Split(setting.Value, ",")
		}
	}
	return nil
}
