package overlay

import (
	"crypto/sha256"
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

	"golang.org/x/mod/modfile"
)

// mainModule is the project. Its files can be overlaid where they are.
const mainModule = "github.com/watchsim/watchsim"

// Project is a module that is built.
type Project struct {
	// Dir is the folder with its go.mod.
	Dir string
	// ModFile is the go.mod that the go command reads instead, and adds sums to the go.sum
	// beside it; empty for the one in Dir.
	ModFile string
}

// modFile is the go.mod that says which modules the project is built from.
func (p Project) modFile() string {
	if p.ModFile != "" {
		return p.ModFile
	}
	return filepath.Join(p.Dir, "go.mod")
}

// Flags are those of the go command for a go.mod that is elsewhere.
func (p Project) Flags() []string {
	if p.ModFile == "" {
		return nil
	}
	return []string{"-mod=mod", "-modfile=" + p.ModFile}
}

// linkModules returns the folder in which each module that has patches is edited, and the links that it has made: to all of them but the main
// module and that of the project, which are built where they are. The go command overlays files below a link, but none below its module
// cache. It compiles a package again when its folder has another name, so that the
// links are the same for all builds of a user: they share what no edit touches.
func linkModules(project Project, patches []Patch) (dirs, links map[string]string, err error) {
	dirs, links = map[string]string{}, map[string]string{}
	for _, p := range patches {
		if dirs[p.Module] != "" {
			continue
		}
		sources, err := ModuleDir(project, p.Module)
		if err != nil {
			return nil, nil, err
		}
		dirs[p.Module] = sources
		if p.Module == mainModule || sameFolder(sources, project.Dir) {
			continue
		}
		cache, err := UserCache()
		if err != nil {
			return nil, nil, err
		}
		name := strings.NewReplacer("/", "_").Replace(filepath.Join(filepath.Dir(p.Module), filepath.Base(sources)))
		if !strings.Contains(name, "@") { // a folder of somebody's: another may have the same name
			name += fmt.Sprintf("-%x", sha256.Sum256([]byte(sources)))[:13]
		}
		link := filepath.Join(cache, "modules", name)
		if err := relink(sources, link); err != nil {
			return nil, nil, err
		}
		dirs[p.Module], links[p.Module] = link, link
	}
	return dirs, links, nil
}

// UserCache returns the folder for what this project keeps for the user.
func UserCache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("expected a cache folder for the user: %w; set XDG_CACHE_HOME", err)
	}
	return filepath.Join(cache, "watchsim"), nil
}

// ModuleDir returns the folder of a module that a project requires. It downloads the
// module if need be: the first build on a machine finds an empty module cache,
// for which `go list -m` reports no folder and no error.
func ModuleDir(project Project, module string) (string, error) {
	list := exec.Command("go", append([]string{"list", "-m", "-f", "{{.Dir}}"}, append(project.Flags(), module)...)...)
	list.Dir = project.Dir
	out, err := list.Output()
	if dir := strings.TrimSpace(string(out)); err == nil && dir != "" {
		return dir, nil
	}
	download := exec.Command("go", append([]string{"mod", "download", "-json"}, append(project.Flags(), module)...)...)
	download.Dir = project.Dir
	var found struct{ Dir string }
	if out, err = download.Output(); err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil || found.Dir == "" {
		return "", fmt.Errorf("expected the module %s, which %s requires, found no copy of it (%v); run `go mod download` there", module, project.Dir, err)
	}
	return found.Dir, nil
}

// ModuleDirs is ModuleDir for any module of a project. It looks for each once.
func ModuleDirs(project Project) func(module string) (string, error) {
	dirs := map[string]string{}
	return func(module string) (dir string, err error) {
		if dirs[module] == "" {
			dirs[module], err = ModuleDir(project, module)
		}
		return dirs[module], err
	}
}

// relink makes link point to target.
func relink(target, link string) error {
	if old, err := os.Readlink(link); err == nil && old == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Symlink(target, link)
	if errors.Is(err, fs.ErrExist) {
		return nil // another build was faster
	}
	return err
}

// writeModFile writes the go.mod of a project, with the modules found at their links,
// and the go.sum that goes with it. Where the project is a module of its own inside the
// main module, whose folder is main, the sums of that are in it as well.
func writeModFile(project Project, dir, main string, links map[string]string) (string, error) {
	name := project.modFile()
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("expected a Go module in %s: %w", filepath.Dir(name), err)
	}
	parsed, err := modfile.Parse(name, text, nil)
	if err != nil {
		return "", err
	}
	for _, module := range slices.Sorted(maps.Keys(links)) {
		if err := parsed.AddReplace(module, "", links[module], ""); err != nil {
			return "", fmt.Errorf("%s: replace %s: %w", name, module, err)
		}
	}
	linked, err := parsed.Format()
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(filepath.Dir(name), "go.sum"))
	if err != nil {
		return "", err
	}
	if main != "" && !sameFolder(main, project.Dir) {
		more, err := os.ReadFile(filepath.Join(main, "go.sum"))
		if err != nil {
			return "", err
		}
		sums = append(sums, more...)
	}
	path := filepath.Join(dir, "go.mod")
	return path, errors.Join(writeIfChanged(path, string(linked)), writeIfChanged(filepath.Join(dir, "go.sum"), string(sums)))
}

// sameFolder reports whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
