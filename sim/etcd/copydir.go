package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pageBytes is the granularity of copies. It is a multiple of every alignment
// the log and the database rely on.
const pageBytes = 4096

// CopyDir copies a member's data folder as a crash left it: src may belong to a
// member whose goroutines still hold its locks and will never run again. dst
// must not exist. Files that etcd only prepared for later are left out.
func CopyDir(src, dst string) error {
	err := filepath.WalkDir(src, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dst, relative)
		switch {
		case entry.IsDir():
			return os.Mkdir(target, 0o700)
		case strings.HasSuffix(path, ".tmp"):
			return nil
		default:
			return copyFile(path, target)
		}
	})
	if err != nil {
		return fmt.Errorf("copy the data folder of a crashed member: %w", err)
	}
	return nil
}

// copyFile copies a file, its size included, but leaves a hole for the zeros at
// its end: most of a log segment is still unwritten.
func copyFile(src, dst string) (err error) {
	content, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	if _, err := file.Write(content[:written(content)]); err != nil {
		return err
	}
	return file.Truncate(int64(len(content)))
}

// written is the length of content without the zero pages at its end.
func written(content []byte) int {
	var zeros [pageBytes]byte
	end := len(content)
	for end > 0 {
		start := (end - 1) / pageBytes * pageBytes
		if !bytes.Equal(content[start:end], zeros[:end-start]) {
			break
		}
		end = start
	}
	return end
}
