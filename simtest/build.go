package simtest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
	"github.com/watchsim/watchsim/sim/overlay"
)

// binary returns the path of a binary of this test that can simulate, and builds it if necessary.
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
	cache, err := overlay.UserCache()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "simtest", fmt.Sprintf("%x", sha256.Sum256([]byte(source)))[:12])
	made, err := overlay.Write(toolchain, overlay.Project{Dir: source}, filepath.Join(dir, "overlay"))
	if err != nil {
		return "", err
	}
	options, environment := instrumented()
	path := filepath.Join(dir, "simulated.test")
	if isolate.Raced {
		path = filepath.Join(dir, "simulated-race.test")
	}
	if _, err := os.Stat(path); err != nil {
		t.Logf("building this test with the toolchain overlay in %s; the first time takes some minutes", dir)
	}
	// The go command that runs this test has vetted it.
	arguments := append([]string{"test", "-c", "-vet=off", "-o", path}, made.Flags()...)
	arguments = append(arguments, "-tags="+strings.Join(append(tags(), tag), ","))
	if !*flagNoFork { // without debug information it compiles and links faster
		arguments = append(arguments, "-gcflags=all=-dwarf=false", "-ldflags=-w")
	}
	arguments = append(arguments, options...) // after the flags for all packages
	build := exec.Command("go", append(arguments, ".")...)
	build.Env = append(os.Environ(), environment...)
	if out, err := build.CombinedOutput(); err != nil {
		why := ""
		if uses := usesCgo(source); !isolate.Raced && len(uses) > 0 {
			why = fmt.Sprintf("; a process with cgo cannot be copied, so that it is built without, and cgo is used by %s", strings.Join(uses, ", "))
		}
		return "", fmt.Errorf("cannot build this test with the toolchain overlay: %w%s\n%s", err, why, beginning(string(out)))
	}
	return path, nil
}

// usesCgo returns the packages that a test depends on and that use cgo, except those of Go, which
// work without it.
func usesCgo(source string) []string {
	list := exec.Command("go", "list", "-e", "-deps", "-test", "-f", "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}", ".")
	list.Dir = source
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, _ := list.Output() // it only adds detail to a build error
	return strings.Fields(string(out))
}

// maxBuildLines is how many lines of the output of a failed build are shown.
const maxBuildLines = 20

// beginning returns the first lines of a text, and how many were cut off.
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
