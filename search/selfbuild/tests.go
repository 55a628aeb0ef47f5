package selfbuild

import (
	"path/filepath"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
)

// simulating is the build tag of tests that simulate; see package simtest.
const simulating = "watchsim"

// BuildTests builds the tests of a module inside of this project, which are tests of package
// simtest, and returns the path of the binary. It puts mutants into it as BuildSwitched does:
// all of them are off unless mutant.Variable names one.
func BuildTests(progress Progress, inside string, uses Uses, mutants []mutant.Mutant) (string, error) {
	source, err := Source()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(source, inside)
	if err := haveInside(source, dir); err != nil {
		return "", err
	}
	name := "plain"
	if len(mutants) > 0 {
		name = "switched"
	}
	b, err := newBuilder(dir, name, uses)
	if err != nil {
		return "", err
	}
	patches, err := mutant.Switched(modules(b.project), mutants)
	if err != nil {
		return "", err
	}
	return b.buildTests(patches, progress)
}

// buildTests builds the tests of the package at the root of a module, with edits.
func (b builder) buildTests(patches []overlay.Patch, progress Progress) (string, error) {
	made, err := overlay.Write(b.toolchain, b.project, filepath.Join(b.dir, "overlay"), patches...)
	if err != nil {
		return "", err
	}
	flags := append(made.Flags(), "-tags="+simulating)
	// Only `go build` tells how far it is, and it compiles nearly everything.
	if err := b.run(progress, ".", append([]string{"build", "-v"}, flags...)...); err != nil {
		return "", err
	}
	binary := filepath.Join(b.dir, filepath.Base(b.project.Dir)+".test")
	// No debugger looks into it, and without what one needs it links sooner.
	return binary, b.run(nil, ".", append([]string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", binary}, flags...)...)
}
