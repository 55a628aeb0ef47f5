package selfbuild

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
)

// simulating is the build tag of binaries that simulate; see package simtest.
const simulating = "watchsim"

// Tests is the location of tests of package simtest in this project.
type Tests struct {
	// Module is the folder of the module, empty for the project's own.
	Module string
	// Package is the folder of the package in it, empty for the module's root.
	Package string
}

// BuildTests builds tests of package simtest with mutants, as BuildSwitched does, and returns the path of the binary: all
// mutants are off unless mutant.Variable names them.
func BuildTests(progress Progress, tests Tests, uses Uses, mutants []mutant.Mutant) (string, error) {
	source, err := Source()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(source, tests.Module)
	if tests.Module != "" {
		if err := haveInside(source, dir); err != nil {
			return "", err
		}
	}
	name := tests.Package + "plain"
	if len(mutants) > 0 {
		name = tests.Package + "switched"
	}
	b, patches, err := switched(dir, name, uses, mutants)
	if err != nil {
		return "", err
	}
	return b.buildTests("./"+tests.Package, patches, progress)
}

// Report is the used part of what such tests write for -simtest.report.
type Report struct {
	// Passed counts seeds, and Hashes are those of their runs, by seed.
	Passed  int
	Hashes  map[uint64]string
	Failure *Failure
}

// Failure is the first seed that failed.
type Failure struct {
	Seed uint64
	Hash string
	// ShownSeed and ShownHash are of the smaller run that fails alike, as is what follows.
	ShownSeed uint64
	ShownHash string
	// Log is what the test logged, Stop why a run that did not complete ended.
	Log        []string
	Stop       string
	Violations []struct{ Text string }
}

// ReadReport reads what tests have written.
func ReadReport(file string) (report Report, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	return report, err
}

// buildTests builds the tests of a package, with edits.
func (b builder) buildTests(pkg string, patches []overlay.Patch, progress Progress) (string, error) {
	made, err := overlay.Write(b.toolchain, b.project, filepath.Join(b.dir, "overlay"), patches...)
	if err != nil {
		return "", err
	}
	flags := append(made.Flags(), "-tags="+simulating)
	// Only `go build` reports progress, and it compiles nearly everything. A command's binary would end up among the sources.
	if err := b.run(progress, pkg, append([]string{"build", "-v", "-o", os.DevNull}, flags...)...); err != nil {
		return "", err
	}
	binary := filepath.Join(b.dir, filepath.Base(filepath.Join(b.project.Dir, pkg))+".test")
	// Nobody debugs it, and without debug information it links faster.
	return binary, b.run(nil, pkg, append([]string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", binary}, flags...)...)
}
