package main

import (
	"context"
	"encoding/json"
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

// packageTests are the tests of a package as a program, with mutants inside that
// mutant.Variable switches on.
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

// overlayOnly are the flags of the go command that make some edits of one module, and no others.
func overlayOnly(source, dir, scratch string, patches []overlay.Patch) ([]string, error) {
	goMod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, err
	}
	goSum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{"go.sum": string(goSum)}
	// The go command overlays nothing in its module cache, but what lies below a link.
	at := dir
	if dir != source {
		at = filepath.Join(scratch, "module")
		if err := os.Symlink(dir, at); err != nil {
			return nil, err
		}
		if goMod, err = requiring(goMod, patches[0].Module, dir, at); err != nil {
			return nil, err
		}
	}
	files["go.mod"] = string(goMod)
	replace, edited := map[string]string{}, map[string]string{}
	for _, p := range patches {
		name := edited[p.File]
		if name == "" {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p.File)))
			if err != nil {
				return nil, err
			}
			name = fmt.Sprintf("edited-%d.go", len(edited))
			edited[p.File], files[name] = name, string(text)
			replace[filepath.Join(at, filepath.FromSlash(p.File))] = filepath.Join(scratch, name)
		}
		if files[name], err = p.Apply(files[name]); err != nil {
			return nil, err
		}
	}
	listing, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	files["overlay.json"] = string(listing)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(scratch, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"-mod=mod", "-overlay", filepath.Join(scratch, "overlay.json"), "-modfile", filepath.Join(scratch, "go.mod")}, nil
}

// requiring is a go.mod with another module replaced by a folder, and with what that
// module requires directly: its tests may need modules that nothing here does.
func requiring(goMod []byte, module, dir, at string) ([]byte, error) {
	ours, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	its, err := modfile.Parse(filepath.Join(dir, "go.mod"), text, nil)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, r := range ours.Require {
		known[r.Mod.Path] = true
	}
	for _, r := range its.Require {
		if !r.Indirect && !known[r.Mod.Path] {
			ours.AddNewRequire(r.Mod.Path, r.Mod.Version, false)
		}
	}
	if err := ours.AddReplace(module, "", at, ""); err != nil {
		return nil, err
	}
	return ours.Format()
}
