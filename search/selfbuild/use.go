package selfbuild

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Use is other code for a module than the project requires. One of Version and Folder is set.
type Use struct {
	Module  string
	Version string
	Folder  string // an absolute path
}

// Uses are all replacements of a build, each of another module.
type Uses []Use

// usesSeparator separates them in one text.
const usesSeparator = ","

// ParseUses parses MODULE=FOLDER or MODULE=VERSION from each text. A folder is relative to the
// current one.
func ParseUses(texts ...string) (Uses, error) {
	var uses Uses
	for _, text := range texts {
		path, value, complete := strings.Cut(text, "=")
		if !complete || path == "" || value == "" || module.CheckPath(path) != nil {
			return nil, fmt.Errorf("expected a module and a version or folder for it, such as go.etcd.io/etcd/server/v3=v3.7.3, found %q", text)
		}
		for _, other := range uses {
			if other.Module == path {
				return nil, fmt.Errorf("expected one version or folder for %s, found %s and %s", path, other.value(), value)
			}
		}
		use := Use{Module: path}
		if semver.IsValid(value) {
			if semver.Canonical(value) != value || module.Check(path, value) != nil {
				return nil, fmt.Errorf("expected a version of %s in full, such as v3.7.3 where the path ends in /v3, found %s", path, value)
			}
			use.Version = value
		} else if err := use.setFolder(value); err != nil {
			return nil, err
		}
		uses = append(uses, use)
	}
	return uses, nil
}

// setFolder sets the folder that the module comes from.
func (u *Use) setFolder(folder string) error {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if info, err := os.Stat(absolute); err != nil || !info.IsDir() {
		return fmt.Errorf("expected a version of %s, such as v3.7.3, or a folder with its source, found neither at %s", u.Module, folder)
	}
	if strings.Contains(absolute, usesSeparator) {
		return fmt.Errorf("expected the path of a folder without a comma, found %s; move the folder, or make a link to it", absolute)
	}
	found, err := readGoMod(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("expected a go.mod of the module %s in %s, found none; name the folder of the module and not one above or below it", u.Module, folder)
	}
	if err != nil {
		return err
	}
	if found.Module == nil || found.Module.Mod.Path != u.Module {
		name := "none"
		if found.Module != nil {
			name = found.Module.Mod.Path
		}
		return fmt.Errorf("expected the module %s in %s, found %s; name the folder of the module", u.Module, folder, name)
	}
	u.Folder = absolute
	return nil
}

// readGoMod reads the go.mod in a folder.
func readGoMod(folder string) (*modfile.File, error) {
	return readModFile(filepath.Join(folder, "go.mod"))
}

func readModFile(path string) (*modfile.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, text, nil)
}

// value returns the version or folder.
func (u Use) value() string { return cmp.Or(u.Folder, u.Version) }

// String returns the text that ParseUses accepts, in whatever folder the process is.
func (u Use) String() string { return u.Module + "=" + u.value() }

// String joins all of them; empty if there are none.
func (uses Uses) String() string {
	var texts []string
	for _, use := range uses {
		texts = append(texts, use.String())
	}
	return strings.Join(texts, usesSeparator)
}

// SplitUses reads what Uses.String wrote.
func SplitUses(text string) (Uses, error) {
	if text == "" {
		return nil, nil
	}
	return ParseUses(strings.Split(text, usesSeparator)...)
}
