package selfbuild

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/watchsim/watchsim/sim/overlay"
)

// replacements are the replacements of modules, by path: a folder is a path without a version.
type replacements map[string]module.Version

// project returns the project in a folder with other code for some modules. Its go.mod is written
// to dir. If there are no uses, nothing is written.
func (uses Uses) project(toolchain overlay.Toolchain, source, dir string) (overlay.Project, error) {
	if len(uses) == 0 {
		return overlay.Project{Dir: source}, nil
	}
	file, err := readGoMod(source)
	if err != nil {
		return overlay.Project{}, err
	}
	replaced, err := uses.replacements(toolchain, file)
	if err != nil {
		return overlay.Project{}, err
	}
	for _, path := range slices.Sorted(maps.Keys(replaced)) {
		// A replacement of a single version would take precedence over one of all.
		for _, old := range slices.Clone(file.Replace) {
			if old.Old.Path == path {
				err = errors.Join(err, file.DropReplace(path, old.Old.Version))
			}
		}
		err = errors.Join(err, file.AddReplace(path, "", replaced[path].Path, replaced[path].Version))
	}
	if err != nil {
		return overlay.Project{}, err
	}
	file.Cleanup()
	text, err := file.Format()
	if err != nil {
		return overlay.Project{}, err
	}
	written := filepath.Join(dir, "go.mod")
	return overlay.Project{Dir: source, ModFile: written}, cmp.Or(os.MkdirAll(dir, 0o755), os.WriteFile(written, text, 0o644),
		addSums(filepath.Join(source, "go.sum"), filepath.Join(dir, "go.sum")))
}

// addSums adds sums to a file, which also has those that the go command noted in an earlier build.
func addSums(from, to string) error {
	sums, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	known, err := os.ReadFile(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := slices.Compact(slices.Sorted(strings.Lines(string(sums) + string(known))))
	return os.WriteFile(to, []byte(strings.Join(lines, "")), 0o644)
}

// replacements returns the replacements for all uses. A module that is not named follows the first
// named one of its repository.
func (uses Uses) replacements(toolchain overlay.Toolchain, file *modfile.File) (replacements, error) {
	for _, use := range uses {
		if err := use.check(toolchain, file); err != nil {
			return nil, err
		}
	}
	replaced := replacements{}
	for _, use := range slices.Backward(uses) { // the first one wins
		others, err := use.others(file)
		if err != nil {
			return nil, err
		}
		maps.Copy(replaced, others)
	}
	for _, use := range uses {
		replaced[use.Module] = use.replacement()
	}
	return replaced, nil
}

func (u Use) replacement() module.Version {
	if u.Folder != "" {
		return module.Version{Path: u.Folder}
	}
	return module.Version{Path: u.Module, Version: u.Version}
}

// check reports a module that the project does not use, and code that does not exist or needs
// another Go than the installed one.
func (u Use) check(toolchain overlay.Toolchain, file *modfile.File) error {
	required := slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == u.Module })
	if strings.HasPrefix(u.Module+"/", project+"/") || !required {
		return fmt.Errorf("expected a module that simrun is built from, such as k8s.io/apiserver or go.etcd.io/etcd/server/v3, found %s; `simrun version` and go.mod list them", u.Module)
	}
	at := filepath.Join(u.Folder, "go.mod")
	if u.Folder == "" {
		found, err := listVersions(u.replacement())
		if err != nil {
			return err
		}
		if found[0].Error != nil {
			return fmt.Errorf("expected a version of %s, found %s, which there is not or cannot be had: %s; `go list -m -versions %s` lists them",
				u.Module, u.Version, strings.TrimSpace(found[0].Error.Err), u.Module)
		}
		at = found[0].GoMod
	}
	own, err := readModFile(at)
	if err != nil {
		return err
	}
	if own.Go != nil && version.Compare("go"+own.Go.Version, toolchain.Version) > 0 {
		return fmt.Errorf("expected code for %s or older, found %s, which needs go%s; simrun cannot use it before it supports that release of Go", toolchain.Version, u, own.Go.Version)
	}
	return nil
}

// others returns the modules that belong to this one: those of the same repository, and what it
// requires from the same host (etcd's raft and database, and Kubernetes' OpenAPI), because they
// were tested together.
func (u Use) others(file *modfile.File) (replacements, error) {
	if u.Folder != "" {
		return u.beside(file)
	}
	var same []module.Version
	for _, sibling := range siblings(file, u.Module) {
		same = append(same, module.Version{Path: sibling, Version: u.Version})
	}
	// The module comes last, to get its go.mod.
	found, err := listVersions(append(same, u.replacement())...)
	if err != nil {
		return nil, err
	}
	replaced := replacements{}
	for _, one := range found[:len(same)] {
		// A release need not have all of them: then the requirements decide.
		if one.Error == nil {
			replaced[one.Path] = module.Version{Path: one.Path, Version: u.Version}
		}
	}
	own, err := readModFile(found[len(same)].GoMod)
	if err != nil {
		return nil, err
	}
	for _, required := range own.Require {
		// k8s.io/utils only ever gains packages, and etcd needs some of the newer ones.
		if required.Mod.Path == "k8s.io/utils" {
			continue
		}
		if _, sibling := replaced[required.Mod.Path]; !sibling && repository(u.Module) != "" && host(required.Mod.Path) == host(u.Module) {
			replaced[required.Mod.Path] = required.Mod
		}
	}
	return replaced, nil
}

// beside returns the modules where the go.mod of a folder says, or where they are relative to it in
// a checkout of its repository.
func (u Use) beside(file *modfile.File) (replacements, error) {
	replaced := replacements{}
	own, err := readGoMod(u.Folder)
	if err != nil {
		return nil, err
	}
	add := func(path, folder string) {
		found, err := readGoMod(folder)
		if err == nil && found.Module != nil && found.Module.Mod.Path == path {
			replaced[path] = module.Version{Path: folder}
		}
	}
	if root, within := strings.CutSuffix(u.Folder, string(filepath.Separator)+inRepository(u.Module)); within {
		for _, sibling := range siblings(file, u.Module) {
			add(sibling, filepath.Join(root, inRepository(sibling)))
		}
	}
	for _, r := range own.Replace {
		if r.New.Version == "" && !filepath.IsAbs(r.New.Path) {
			add(r.Old.Path, filepath.Join(u.Folder, r.New.Path))
		}
	}
	return replaced, nil
}

// siblings returns the modules of a repository that a go.mod requires in the same version as this one.
func siblings(file *modfile.File, path string) (paths []string) {
	for _, r := range file.Require {
		other := r.Mod.Path
		if other != path && repository(path) != "" && repository(other) == repository(path) && effective(file, other) == effective(file, path) {
			paths = append(paths, other)
		}
	}
	return paths
}

// effective returns the version of a module that is built, which differs from the required one if a
// go.mod replaces it.
func effective(file *modfile.File, path string) string {
	for _, r := range file.Replace {
		if r.Old.Path == path {
			return cmp.Or(r.New.Version, r.New.Path)
		}
	}
	for _, r := range file.Require {
		if r.Mod.Path == path {
			return r.Mod.Version
		}
	}
	return ""
}

// repository returns the repository with several modules of one release that contains the module;
// empty for every other module.
func repository(path string) string {
	switch {
	case strings.HasPrefix(path, "go.etcd.io/etcd/"):
		return "go.etcd.io/etcd"
	case host(path) == "k8s.io":
		return "k8s.io"
	}
	return ""
}

func host(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

// majorVersion matches the end of a module's path that is not a folder in its repository.
var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// inRepository returns where a module of Kubernetes' staging folder or of etcd is, below the folder
// with all of them.
func inRepository(path string) string {
	if inside, ok := strings.CutPrefix(path, "go.etcd.io/etcd/"); ok {
		if inside == "client/v3" { // the one with a folder for its major version
			return inside
		}
		return majorVersion.ReplaceAllString(inside, "")
	}
	_, inside, _ := strings.Cut(path, "/")
	return majorVersion.ReplaceAllString(inside, "")
}

// listed is the output of `go list -m -json` for a version.
type listed struct {
	Path, GoMod string
	Error       *struct{ Err string }
}

// listVersions asks the go command about versions of modules, in their order.
func listVersions(versions ...module.Version) ([]listed, error) {
	arguments := []string{"list", "-m", "-e", "-json"}
	for _, v := range versions {
		arguments = append(arguments, v.String())
	}
	out, err := outside(arguments...)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the go command for versions of %s: %w", versions[0].Path, err)
	}
	var all []listed
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var one listed
		switch err := decoder.Decode(&one); {
		case err == io.EOF && len(all) == len(versions):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("expected %d versions from `go list -m`, found %d: %w", len(versions), len(all), err)
		}
		all = append(all, one)
	}
}

// sources returns the folders among the replacements with hashes of their contents, as module=hash,
// sorted.
func sources(project overlay.Project) (hashes []string, err error) {
	if project.ModFile == "" {
		return nil, nil
	}
	file, err := readModFile(project.ModFile)
	if err != nil {
		return nil, err
	}
	for _, r := range file.Replace {
		if r.New.Version != "" || !filepath.IsAbs(r.New.Path) {
			continue
		}
		hash, err := sourceHash(r.New.Path)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, r.Old.Path+"="+hash)
	}
	slices.Sort(hashes)
	return hashes, nil
}

// hashLength is how many characters of a hash are kept.
const hashLength = 12

// sourceHash identifies the files of a folder, except those of version control.
func sourceHash(folder string) (string, error) {
	files, err := dirhash.DirFiles(folder, "")
	if err != nil {
		return "", err
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasPrefix(name, ".git/") })
	hash, err := dirhash.Hash1(files, func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(folder, name)) })
	if err != nil {
		return "", fmt.Errorf("cannot read the source in %s: %w", folder, err)
	}
	// Hash1 is base64, with characters that do not fit a flag's value.
	return strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimPrefix(hash, "h1:"))[:hashLength], nil
}

// Versions returns the versions of a module, in ascending order.
func Versions(path string) ([]string, error) {
	if module.CheckPath(path) != nil {
		return nil, fmt.Errorf("expected the path of a module, such as go.etcd.io/etcd/server/v3, found %q", path)
	}
	out, err := outside("list", "-m", "-versions", "-f", "{{range .Versions}}{{.}} {{end}}", path)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the go command for the versions of %s: %w", path, err)
	}
	return strings.Fields(string(out)), nil
}

// outside runs the go command outside of any module, and returns its output. An error includes its
// messages.
func outside(arguments ...string) ([]byte, error) {
	command := exec.Command("go", arguments...)
	command.Dir = os.TempDir()
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return out, err
}
