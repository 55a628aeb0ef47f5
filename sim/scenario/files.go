package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file is what a file in a folder is to hold. One without content is to be
// absent.
type file struct {
	name    string
	content []byte
}

// writeAll writes files so that none is ever seen half-written, and that none
// takes the place of an earlier one until there was room for all of them.
func writeAll(folder string, files []file) (err error) {
	var temporaries []string
	defer func() {
		for _, temporary := range temporaries {
			os.Remove(temporary) // those that were renamed are not there any more
		}
	}()
	for _, f := range files {
		temporary, err := writeTemporary(folder, f)
		temporaries = append(temporaries, temporary)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", filepath.Join(folder, f.name), err)
		}
	}
	for i, f := range files {
		path := filepath.Join(folder, f.name)
		if len(f.content) > 0 {
			err = os.Rename(temporaries[i], path)
		} else if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
	}
	return nil
}

// writeTemporary writes a file beside its place and returns the path.
func writeTemporary(folder string, f file) (path string, err error) {
	temporary, err := os.CreateTemp(folder, "."+f.name+"-*")
	if err != nil {
		return "", err
	}
	if _, err = temporary.Write(f.content); err == nil {
		err = temporary.Chmod(0o644)
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	return temporary.Name(), err
}
