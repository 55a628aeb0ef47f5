// Package selfbuild builds this project's command with the toolchain overlay,
// for a binary that was built without it, or that needs a known bug inside.
package selfbuild

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/watchsim/watchsim/cluster/released"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
)

// Command is the package that is built.
const Command = "./cmd/simrun"

// ErrNoSource means that the project's source is not where this binary was
// built from.
var ErrNoSource = errors.New("the source of watchsim is not where this binary was built from")

// Source is the folder of the module that this binary was built from.
func Source() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", fmt.Errorf("%w: it was built with -trimpath; clone the repository and run `make build` there", ErrNoSource)
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, err := os.Stat(filepath.Join(root, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: expected %s, found nothing; clone the repository and run `make build` there", ErrNoSource, root)
	}
	return root, nil
}

// Build builds the command, with mutants applied, into the user's cache folder,
// and returns the path of the binary. The go command's own cache makes this
// quick when nothing has changed.
func Build(mutants ...mutant.Mutant) (string, error) {
	source, err := Source()
	if err != nil {
		return "", err
	}
	name, patches := applied(mutants)
	return build(source, Command, name, patches)
}

// BuildReleased builds the worker of a release, as Build does the command.
func BuildReleased(release released.Release, mutants ...mutant.Mutant) (string, error) {
	source, err := Source()
	if err != nil {
		return "", err
	}
	name, patches := applied(mutants)
	return build(release.Dir(source), released.Worker, name, patches)
}

// applied is a name for a build with mutants, and their edits.
func applied(mutants []mutant.Mutant) (string, []overlay.Patch) {
	name := []string{"plain"}
	var patches []overlay.Patch
	for _, m := range mutants {
		name = append(name, m.Name)
		patches = append(patches, m.Patch())
	}
	return strings.Join(name, "+"), patches
}

// BuildSwitched is Build with all of some mutants inside, all of them off:
// mutant.Variable switches one on. With that, many are hunted for the price of one
// build.
func BuildSwitched(mutants []mutant.Mutant) (string, error) {
	source, err := Source()
	if err != nil {
		return "", err
	}
	patches, err := mutant.Switched(func(module string) (string, error) { return overlay.ModuleDir(source, module) }, mutants)
	if err != nil {
		return "", err
	}
	return build(source, Command, "switched", patches)
}

// build builds a command with edits, in the module whose go.mod is in source, under a
// name in the cache folder.
func build(source, command, name string, patches []overlay.Patch) (string, error) {
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
	arguments := append([]string{"build", "-o", binary}, made.Flags()...)
	build := exec.Command("go", append(arguments, command)...)
	build.Dir = source
	// A process that is copied may have no thread that Go did not start.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s with the toolchain overlay: %w\n%s", command, err, out)
	}
	return binary, nil
}

// cacheDir is a folder for one checkout and one kind of build.
func cacheDir(source, name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("expected a cache folder for the user: %w; set XDG_CACHE_HOME", err)
	}
	sum := sha256.Sum256([]byte(source))
	return filepath.Join(cache, "watchsim", hex.EncodeToString(sum[:6]), name), nil
}
