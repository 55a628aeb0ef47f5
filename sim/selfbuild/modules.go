package selfbuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/watchsim/watchsim/sim/mutant"
)

// modules is a go.mod by which damaged modules are found outside of the module
// cache: the go command refuses to overlay a file that lies in there.
type modules struct {
	// file is that go.mod; its go.sum lies beside it.
	file string
	// links are symbolic links into the module cache, by module.
	links map[string]string
}

// linkModules makes the links and the go.mod in dir.
func linkModules(source, dir string, mutants []mutant.Mutant) (modules, error) {
	m := modules{file: filepath.Join(dir, "go.mod"), links: map[string]string{}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return m, err
	}
	requirements, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return m, err
	}
	sums, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return m, err
	}
	for _, damaged := range mutants {
		if m.links[damaged.Module] != "" {
			continue
		}
		cached, err := moduleDir(source, damaged.Module)
		if err != nil {
			return m, fmt.Errorf("mutant %s: %w", damaged.Name, err)
		}
		link := filepath.Join(dir, strings.ReplaceAll(damaged.Module, "/", "_"))
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		if err := os.Symlink(cached, link); err != nil {
			return m, err
		}
		m.links[damaged.Module] = link
		requirements = fmt.Appendf(requirements, "\nreplace %s => %s\n", damaged.Module, strconv.Quote(link))
	}
	return m, errors.Join(
		os.WriteFile(m.file, requirements, 0o644),
		os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644),
	)
}

// moduleDir is where the go command keeps a module that the one in source
// requires.
func moduleDir(source, module string) (string, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = source
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("expected to find the module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}
