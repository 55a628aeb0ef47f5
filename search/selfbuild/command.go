package selfbuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// own is the folder of the command that is built in the place of this project's, empty for
// this project's.
var own string

// CommandIn has Build build the command whose source lies in a folder, which has targets of
// its own. It must be called before.
func CommandIn(dir string) { own = dir }

// command returns what is built: the folder of its module, and its package.
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
