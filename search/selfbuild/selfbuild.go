// Package selfbuild builds this project's command with the toolchain overlay,
// for a binary that was built without it, or that needs a known bug inside.
package selfbuild

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"

	"github.com/watchsim/watchsim/cluster/released"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
)

// Command is the package that is built.
const Command = "./cmd/simrun"

// Progress is told of each package that a build compiles. What is built already is not.
type Progress func(pkg string)

// Build builds the command, with mutants applied, into the user's cache folder,
// and returns the path of the binary. The go command's own cache makes this
// quick when nothing has changed.
func Build(progress Progress, mutants ...mutant.Mutant) (string, error) {
	source, command, err := command()
	if err != nil {
		return "", err
	}
	if len(mutants) > 1 {
		if err := mutant.Check(Modules(source), mutants...); err != nil {
			return "", err
		}
	}
	name, patches := applied(mutants)
	return build(source, command, name, patches, progress)
}

// BuildReleased builds the worker of a release, as Build does the command.
func BuildReleased(progress Progress, release released.Release, mutants ...mutant.Mutant) (string, error) {
	source, err := Source()
	if err != nil {
		return "", err
	}
	dir, err := releaseDir(source, release)
	if err != nil {
		return "", err
	}
	name, patches := applied(mutants)
	return build(dir, released.Worker, name, patches, progress)
}

// applied is a name for a build with mutants, and their edits.
func applied(mutants []mutant.Mutant) (string, []overlay.Patch) {
	name := []string{"plain"}
	var patches []overlay.Patch
	for _, m := range mutants {
		name = append(name, m.Name)
		patches = append(patches, m.Patches()...)
	}
	return strings.Join(name, "+"), patches
}

// BuildSwitched is Build with all of some mutants inside, all of them off:
// mutant.Variable switches one on. With that, many are hunted for the price of one
// build.
func BuildSwitched(mutants []mutant.Mutant) (string, error) {
	source, command, err := command()
	if err != nil {
		return "", err
	}
	patches, err := mutant.Switched(Modules(source), mutants)
	if err != nil {
		return "", err
	}
	return build(source, command, "switched", patches, nil)
}

// Modules says where the modules lie that the project in a folder requires.
func Modules(source string) func(module string) (string, error) {
	dirs := map[string]string{}
	return func(module string) (dir string, err error) {
		if dirs[module] == "" {
			dirs[module], err = overlay.ModuleDir(source, module)
		}
		return dirs[module], err
	}
}

// build builds a command with edits, in the module whose go.mod is in source, under a
// name in the cache folder.
func build(source, command, name string, patches []overlay.Patch, progress Progress) (string, error) {
	toolchain, err := overlay.Installed()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(source, name)
	if err != nil {
		return "", err
	}
	made, err := overlay.Write(toolchain, source, filepath.Join(dir, "overlay"), patches...)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "simrun")
	arguments := append([]string{"build", "-v", "-o", binary}, made.Flags()...)
	build := exec.Command("go", append(arguments, command)...)
	build.Dir = source
	// A process that is copied may have no thread that Go did not start.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	said := &listener{progress: progress}
	build.Stdout, build.Stderr = said, said
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("cannot build %s with the toolchain overlay: %w\n%s", command, err, said.errors.Bytes())
	}
	return binary, nil
}

// listener tells the packages that `go build -v` names from what else it says.
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

// cacheDir is a folder for one checkout and one kind of build.
func cacheDir(source, name string) (string, error) {
	cache, err := userCache()
	sum := sha256.Sum256([]byte(source))
	return filepath.Join(cache, hex.EncodeToString(sum[:6]), name), err
}
