// Package overlay makes the edited copies of Go's own files that turn the
// installed toolchain into a deterministic one, and the JSON file that
// "go build -overlay" reads. Nothing of Go's sources is kept in the repository:
// the copies are made from the GOROOT that will build them.
package overlay

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// added are the files that are added to Go's own packages, each in the folder of its
// package.
//
//go:embed _src
var added embed.FS

// newFiles is their text, by their path below GOROOT/src.
var newFiles = func() map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(added, "_src", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := added.ReadFile(path)
		files[strings.TrimPrefix(path, "_src/")] = string(content)
		return err
	})
	if err != nil {
		panic(err) // they are embedded
	}
	return files
}()

// supportedRelease is the release of Go that the edits were written for.
const supportedRelease = "go1.26"

// ErrUnsupportedGo means that the installed Go is of a release the edits were
// not written for.
var ErrUnsupportedGo = errors.New("this release of Go is not supported yet")

// Patch is an edit of one file of a module that the project requires, or of the
// project itself, such as a known bug that is put back.
type Patch struct {
	Module string
	Edit
	// Points is the folder of a package, with slashes, that gets synchronisation points
	// between its statements; "." is the module's own. It takes the place of an edit, and
	// is done when all edits are.
	Points string
}

// Toolchain is an installed Go.
type Toolchain struct {
	Version string // as "go env GOVERSION" prints it
	Root    string // GOROOT
}

// Installed asks the go command on the PATH what it is.
func Installed() (Toolchain, error) {
	out, err := exec.Command("go", "env", "GOVERSION", "GOROOT").Output()
	if err != nil {
		return Toolchain{}, fmt.Errorf("expected a go command on the PATH, found: %w; install Go 1.26", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 {
		return Toolchain{}, fmt.Errorf("expected GOVERSION and GOROOT from go env, found %q", out)
	}
	return Toolchain{Version: strings.TrimSpace(lines[0]), Root: strings.TrimSpace(lines[1])}, nil
}

// Supported reports whether the edits were written for this release.
func (t Toolchain) Supported() error {
	if t.Version == supportedRelease || strings.HasPrefix(t.Version, supportedRelease+".") {
		return nil
	}
	return fmt.Errorf("%w: expected %s or %s.x, found %s; install a Go 1.26 release or set GOTOOLCHAIN",
		ErrUnsupportedGo, supportedRelease, supportedRelease, t.Version)
}

// Build is what the go command needs to build with the overlay.
type Build struct {
	// Overlay is the JSON file for -overlay.
	Overlay string
	// ModFile is the go.mod for -modfile, empty if no module but the project has edits:
	// the project's, but that the modules with edits are found by way of links. The go
	// command refuses to overlay files of its module cache.
	ModFile string
	// adds says whether the go command may add to ModFile and its sums.
	adds bool
}

// Flags are the flags for go build, test and vet.
func (b Build) Flags() []string {
	flags := []string{"-overlay", b.Overlay}
	if b.ModFile != "" {
		flags = append(flags, "-modfile", b.ModFile)
	}
	if b.adds {
		flags = append(flags, "-mod=mod")
	}
	return flags
}

// apart is a go.mod for the overlay's folder, so that it is no package of the module
// in which it lies.
const apart = "module overlay\n"

// Write makes the edited copies in dir, which is made if need be, for the
// project. It changes no file whose content stays the
// same, so that the go command's cache stays warm.
func Write(toolchain Toolchain, project Project, dir string, patches ...Patch) (Build, error) {
	if err := toolchain.Supported(); err != nil {
		return Build{}, err
	}
	source, contents := filepath.Join(toolchain.Root, "src"), map[string]string{}
	for _, e := range goEdits {
		if err := e.edit(source, contents); err != nil {
			return Build{}, fmt.Errorf("%s: %w", toolchain.Version, err)
		}
	}
	for file, text := range newFiles {
		contents[filepath.Join(source, filepath.FromSlash(file))] = text
	}
	return write([]string{source}, contents, project, dir, patches)
}

// WriteEdits is Write without the edits of Go's own files: what is built simulates nothing.
func WriteEdits(project Project, dir string, patches ...Patch) (Build, error) {
	return write(nil, map[string]string{}, project, dir, patches)
}

// write adds the edits of modules to contents, which has texts of files below roots by their paths, and writes all.
func write(roots []string, contents map[string]string, project Project, dir string, patches []Patch) (Build, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Build{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Build{}, err
	}
	modules, links, err := linkModules(project, patches)
	if err != nil {
		return Build{}, err
	}
	modFile := project.ModFile
	if len(links) > 0 {
		modFile, err = writeModFile(project, dir, modules[mainModule], links)
	} else {
		err = writeIfChanged(filepath.Join(dir, "go.mod"), apart)
	}
	if err != nil {
		return Build{}, err
	}

	for _, p := range patches {
		if p.Points != "" {
			continue
		}
		if err := p.edit(modules[p.Module], contents); err != nil {
			return Build{}, err
		}
	}
	for _, p := range patches {
		if p.Points == "" {
			continue
		}
		if err := addPoints(filepath.Join(modules[p.Module], filepath.FromSlash(p.Points)), contents); err != nil {
			return Build{}, err
		}
	}
	roots = append(roots, modules[mainModule])
	for _, link := range links {
		roots = append(roots, filepath.Dir(link))
	}
	list, err := writeCopies(roots, dir, contents)
	return Build{Overlay: list, ModFile: modFile, adds: project.ModFile != ""}, err
}

// writeCopies writes the edited files, which lie below roots, and the list of what
// they replace.
func writeCopies(roots []string, dir string, contents map[string]string) (string, error) {
	replaced := make(map[string]string, len(contents))
	for original, text := range contents {
		copied := filepath.Join(dir, copyName(roots, original))
		if err := writeIfChanged(copied, text); err != nil {
			return "", err
		}
		replaced[original] = copied
	}
	listing, err := json.MarshalIndent(map[string]any{"Replace": replaced}, "", "\t")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, writeIfChanged(path, string(listing)+"\n")
}

// copyName is where a copy lies below the overlay's folder: one flat name, so
// that files of one name in different packages do not meet.
func copyName(roots []string, original string) string {
	name := original
	for _, root := range roots {
		name = strings.TrimPrefix(name, root+string(filepath.Separator))
	}
	return strings.NewReplacer("/", "_", "\\", "_", ":", "_", "@", "_").Replace(name)
}

func writeIfChanged(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// A second build that runs at the same time must never see half a file.
	temporary, err := os.CreateTemp(filepath.Dir(path), ".overlay-*")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(text)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Chmod(temporary.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		os.Remove(temporary.Name())
	}
	return err
}

// Hash identifies the edits of Go's files: two binaries with one hash and one release of Go
// simulate alike.
func Hash() string {
	h := sha256.New()
	for _, e := range goEdits {
		fmt.Fprintf(h, "%q %q %q\n", e.File, e.Anchor, e.Replacement)
	}
	for _, file := range slices.Sorted(maps.Keys(newFiles)) {
		fmt.Fprintf(h, "%q %q\n", file, newFiles[file])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
