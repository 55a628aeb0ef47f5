// Package selfbuild builds this project's command with the toolchain overlay, for a binary without
// it, or one that needs mutants or other code inside.
package selfbuild

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
)

// Command is the package that is built.
const Command = "./cmd/simrun"

// Progress is called with each package that a build compiles, but not with packages that are up to date.
type Progress func(pkg string)

// Build builds the command, with other code for some modules and with mutants applied, into the
// user's cache folder, and returns the path of the binary. Thanks to the go command's own cache it
// is quick if nothing has changed.
func Build(progress Progress, uses Uses, mutants ...mutant.Mutant) (string, error) {
	source, command, err := command()
	if err != nil {
		return "", err
	}
	return build(source, command, progress, uses, mutants)
}

// BuildReleased builds the worker of a release, as Build does the command.
func BuildReleased(progress Progress, release target.Release, uses Uses, mutants ...mutant.Mutant) (string, error) {
	source, err := Source()
	if err != nil {
		return "", err
	}
	dir, err := releaseDir(source, release)
	if err != nil {
		return "", err
	}
	return build(dir, target.ReleaseWorker, progress, uses, mutants)
}

// build builds a command in the module whose go.mod is in source.
func build(source, command string, progress Progress, uses Uses, mutants []mutant.Mutant) (string, error) {
	name := []string{"plain"}
	var patches []overlay.Patch
	for _, m := range mutants {
		name = append(name, m.Name)
		patches = append(patches, m.Patches()...)
	}
	b, err := newBuilder(source, strings.Join(name, "+"), uses)
	if err != nil {
		return "", err
	}
	if len(mutants) > 1 && command == Command {
		if err := mutant.Check(overlay.ModuleDirs(b.project), mutants...); err != nil {
			return "", err
		}
	}
	return b.build(command, patches, progress)
}

// BuildSwitched is Build with several mutants inside, all of them off: mutant.Variable switches one
// on. So many are hunted for the price of one build.
func BuildSwitched(uses Uses, mutants []mutant.Mutant) (string, error) {
	source, command, err := command()
	if err != nil {
		return "", err
	}
	b, patches, err := switched(source, "switched", uses, mutants)
	if err != nil {
		return "", err
	}
	return b.build(command, patches, nil)
}

// switched prepares a build with several mutants inside, and returns their edits.
func switched(source, name string, uses Uses, mutants []mutant.Mutant) (b builder, patches []overlay.Patch, err error) {
	if b, err = newBuilder(source, name, uses); err == nil {
		patches, err = mutant.Switched(overlay.ModuleDirs(b.project), mutants)
	}
	return b, patches, err
}

// Modules returns a function that finds the modules that the project in a folder requires, or their
// replacements.
func Modules(source string, uses Uses) (func(module string) (string, error), error) {
	b, err := newBuilder(source, "modules", uses)
	return overlay.ModuleDirs(b.project), err
}

// builder builds into one folder of the cache.
type builder struct {
	toolchain overlay.Toolchain
	project   overlay.Project
	uses      Uses
	dir       string
}

// newBuilder prepares builds of the module whose go.mod is in source, under a name in the cache
// folder.
func newBuilder(source, name string, uses Uses) (builder, error) {
	toolchain, err := overlay.Installed()
	if err != nil {
		return builder{}, err
	}
	if len(uses) > 0 {
		name += "+use-" + shortHash(uses.String())
	}
	cache, err := overlay.UserCache()
	if err != nil {
		return builder{}, err
	}
	dir := filepath.Join(cache, shortHash(source), name) // one for each checkout and kind of build
	project, err := uses.project(toolchain, source, dir)
	return builder{toolchain: toolchain, project: project, uses: uses, dir: dir}, err
}

// maxCompilerLines is how many lines of compiler output an error shows.
const maxCompilerLines = 10

// build builds a command with edits.
func (b builder) build(command string, patches []overlay.Patch, progress Progress) (string, error) {
	made, err := overlay.Write(b.toolchain, b.project, filepath.Join(b.dir, "overlay"), patches...)
	if err != nil {
		return "", err
	}
	flags := made.Flags()
	folders, err := sources(b.project)
	if err != nil {
		return "", err
	}
	if len(folders) > 0 {
		flags = append(flags, "-ldflags=-X="+scenario.FoldersVariable+"="+strings.Join(folders, usesSeparator))
	}
	binary := filepath.Join(b.dir, "simrun")
	return binary, b.run(progress, command, append([]string{"build", "-v", "-o", binary}, flags...)...)
}

// run runs the go command on a package.
func (b builder) run(progress Progress, pkg string, arguments ...string) error {
	build := exec.Command("go", append(arguments, pkg)...)
	build.Dir = b.project.Dir
	// A process that is copied must have only threads that Go has started.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	said := &listener{progress: progress}
	build.Stdout, build.Stderr = said, said
	if err := build.Run(); err != nil {
		with := "the toolchain overlay"
		if len(b.uses) > 0 {
			with += " and " + b.uses.String()
		}
		return fmt.Errorf("cannot build %s with %s: %w\n%s", pkg, with, err, said.first(maxCompilerLines))
	}
	return nil
}

// listener separates the packages that `go build -v` names from its other output.
type listener struct {
	progress Progress
	line     []byte
	errors   bytes.Buffer
}

func (l *listener) Write(p []byte) (int, error) {
	for chunk := range bytes.Lines(p) {
		if l.line = append(l.line, chunk...); chunk[len(chunk)-1] != '\n' {
			continue
		}
		name := string(bytes.TrimSuffix(l.line, []byte("\n")))
		switch {
		case module.CheckImportPath(name) != nil:
			l.errors.Write(l.line)
		case l.progress != nil:
			l.progress(name)
		}
		l.line = l.line[:0]
	}
	return len(p), nil
}

// first returns the first lines that are not names of packages.
func (l *listener) first(number int) []byte {
	lines := slices.Collect(bytes.Lines(l.errors.Bytes()))
	lines = slices.DeleteFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte("go: downloading ")) })
	if len(lines) > number {
		lines = append(lines[:number], []byte("...\n"))
	}
	return bytes.Join(lines, nil)
}

// shortHash distinguishes texts in names of folders.
func shortHash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12] }
