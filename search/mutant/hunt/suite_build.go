package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/sim/overlay"
)

// packageTests are the tests of a package as a binary that contains mutants, which mutant.Variable
// switches on.
type packageTests struct {
	binary string
	folder string // of the package's source, where tests expect to run
	remove func()
}

// buildTests builds the tests of a package with mutants of it inside.
func buildTests(ctx context.Context, pkg string, mutants []mutant.Mutant) (*packageTests, error) {
	source, err := selfbuild.Source()
	if err != nil {
		return nil, err
	}
	module := mutants[0].Module
	dir, err := overlay.ModuleDir(overlay.Project{Dir: source}, module)
	if err != nil {
		return nil, err
	}
	patches, err := mutant.Switched(func(string) (string, error) { return dir, nil }, mutants)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "hunt-suite-")
	if err != nil {
		return nil, err
	}
	tests := &packageTests{
		binary: filepath.Join(scratch, "tests"),
		folder: filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(path.Dir(mutants[0].File), "."))),
		remove: func() { os.RemoveAll(scratch) },
	}
	flags, err := overlayOnly(source, dir, scratch, patches)
	if err == nil {
		build := exec.CommandContext(ctx, "go", append(append([]string{"test", "-c", "-o", tests.binary}, flags...), pkg)...)
		build.Dir = source
		if out, failed := build.CombinedOutput(); failed != nil {
			err = fmt.Errorf("cannot build them: %w\n%s", failed, lastLines(string(out)))
		}
	}
	if err != nil {
		tests.remove()
		return nil, err
	}
	return tests, nil
}

// overlayOnly returns the go command's flags that apply some edits of one module, and no others.
func overlayOnly(source, dir, scratch string, patches []overlay.Patch) ([]string, error) {
	project := overlay.Project{Dir: source}
	if dir != source {
		goMod, err := requiring(filepath.Join(source, "go.mod"), dir)
		if err != nil {
			return nil, err
		}
		goSum, err := os.ReadFile(filepath.Join(source, "go.sum"))
		if err != nil {
			return nil, err
		}
		project.ModFile = filepath.Join(scratch, "go.mod")
		if err := errors.Join(os.WriteFile(project.ModFile, goMod, 0o600), os.WriteFile(filepath.Join(scratch, "go.sum"), goSum, 0o600)); err != nil {
			return nil, err
		}
	}
	made, err := overlay.WriteEdits(project, filepath.Join(scratch, "overlay"), patches...)
	return made.Flags(), err
}

// requiring returns a go.mod that also has the direct requirements of the module in a folder: its
// tests may need modules that are not used here.
func requiring(goMod, dir string) ([]byte, error) {
	var files [2]*modfile.File
	for i, name := range []string{goMod, filepath.Join(dir, "go.mod")} {
		text, err := os.ReadFile(name)
		if err == nil {
			files[i], err = modfile.Parse(name, text, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	ours, its := files[0], files[1]
	known := map[string]bool{}
	for _, r := range ours.Require {
		known[r.Mod.Path] = true
	}
	for _, r := range its.Require {
		if !r.Indirect && !known[r.Mod.Path] {
			ours.AddNewRequire(r.Mod.Path, r.Mod.Version, false)
		}
	}
	return ours.Format()
}
