package selfbuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/module"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/sim/overlay"
)

// project is the module of this project.
const project = "github.com/watchsim/watchsim"

// ErrNoSource means that the project's source is not where this binary was built from, and cannot
// be obtained.
var ErrNoSource = errors.New("the source of watchsim is not where this binary was built from")

// Source returns the folder of the module that this binary was built from. For a binary that `go
// install` has built, that is a copy from the module cache, whose files the go command refuses to
// overlay.
func Source() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, version, installed := strings.Cut(filepath.Base(root), "@"); installed {
		return installedSource(version)
	}
	if !filepath.IsAbs(file) {
		return "", fmt.Errorf("%w: it was built with -trimpath; clone the repository and run `make build` there", ErrNoSource)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: expected %s, found nothing; clone the repository and run `make build` there", ErrNoSource, root)
	}
	return root, nil
}

// installedSource returns the copy of a version of the project, which is made on first use.
func installedSource(version string) (string, error) {
	copies, err := copiesDir()
	if err != nil {
		return "", err
	}
	source := filepath.Join(copies, version)
	return source, copyModule(project, version, source)
}

// copiesDir holds a copy of the project for each installed version.
func copiesDir() (string, error) {
	cache, err := overlay.UserCache()
	return filepath.Join(cache, "source"), err
}

// releaseDir is the folder of a release's module in the project's source.
func releaseDir(source string, release target.Release) (string, error) {
	for _, one := range target.Releases() { // each may need the others
		if err := haveInside(source, one.Dir(source)); err != nil {
			return "", err
		}
	}
	return release.Dir(source), nil
}

// haveInside makes sure that a nested module of the project's source exists. A module does not
// include nested ones: a copy of an installed version gets them on first use.
func haveInside(source, dir string) error {
	copies, err := copiesDir()
	if err != nil || filepath.Dir(source) != copies {
		return err
	}
	inside, err := filepath.Rel(source, dir)
	if err != nil {
		return err
	}
	return copyModule(project+"/"+filepath.ToSlash(inside), filepath.Base(source), dir)
}

// copyModule copies a version of a module to a folder, unless it is already there. The go command
// downloads it if necessary.
func copyModule(path, version, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	found, err := download(path, version)
	if err != nil {
		return fmt.Errorf("%w: expected the module %s@%s, which `go mod download` does not find: %w; clone the repository and run `make build` there", ErrNoSource, path, version, err)
	}
	// Make the copy atomically: concurrent readers see nothing, or all of it.
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".copy-")
	if err == nil {
		defer os.RemoveAll(temporary)
		err = os.CopyFS(filepath.Join(temporary, "module"), os.DirFS(found))
	}
	if err == nil {
		err = os.Rename(filepath.Join(temporary, "module"), dir)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// download makes the go command download a module. A module nested in the project has no tag, and
// is found by a version's commit.
func download(path, version string) (string, error) {
	versions := []string{version}
	if commit, err := module.PseudoVersionRev(version); err == nil {
		versions = append(versions, commit)
	} else if origin, err := goModDownload(project, version); err == nil && origin.Origin.Hash != "" {
		versions = append(versions, origin.Origin.Hash)
	}
	var failed error
	for _, version := range versions {
		found, err := goModDownload(path, version)
		if err == nil {
			return found.Dir, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// downloaded is the output of `go mod download`.
type downloaded struct {
	Dir, Error string
	Origin     struct{ Hash string }
}

func goModDownload(path, version string) (found downloaded, err error) {
	command := exec.Command("go", "mod", "download", "-json", path+"@"+version)
	command.Dir = os.TempDir() // outside of any module
	out, err := command.Output()
	if jsonErr := json.Unmarshal(out, &found); jsonErr == nil && found.Error != "" {
		return found, errors.New(found.Error)
	}
	return found, err
}

// own is the folder of the command to build instead of this project's, empty for this project's.
var own string

// CommandIn makes Build build the command whose source is in this folder, which has targets of its
// own. Call it before Build.
func CommandIn(dir string) { own = dir }

// command returns what to build: the folder of its module, and its package.
func command() (source, pkg string, err error) {
	if own == "" {
		source, err = Source()
		return source, Command, err
	}
	for source = own; ; source = filepath.Dir(source) {
		_, err := os.Stat(filepath.Join(source, "go.mod"))
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || !filepath.IsAbs(source) || filepath.Dir(source) == source {
			return "", "", fmt.Errorf("%w: expected the source of this command and its go.mod in or above %s; build it where its source is, without -trimpath", ErrNoSource, own)
		}
	}
	pkg, err = filepath.Rel(source, own)
	return source, "./" + filepath.ToSlash(pkg), err
}
