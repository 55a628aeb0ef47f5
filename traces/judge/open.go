package judge

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/watchsim/watchsim/linearizability"
)

// The files that are looked for in a folder.
const (
	historyFile = "history.jsonl"
	verdictFile = "verdict.json"
)

// Stdin stands for standard input in place of a path.
const Stdin = "-"

// source is an open history.
type source struct {
	io.Reader
	close func() error
	// name is the path of the file itself.
	name string
	// minimum is what the history has to hold lest it be vacuous, if it lies in
	// the folder of a run, whose verdict says so.
	minimum *linearizability.Counts
}

// open opens a file, the history in a folder, or standard input. What is
// compressed with gzip is read as what it holds.
func open(path string, stdin io.Reader) (*source, error) {
	if path == Stdin {
		return decompress(&source{Reader: stdin, close: func() error { return nil }, name: "standard input"})
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, plain(path, err)
	}
	s := &source{name: path}
	if info.IsDir() {
		if s.name, err = historyIn(path); err != nil {
			return nil, err
		}
		if s.minimum, err = minimumIn(path); err != nil {
			return nil, err
		}
	}
	file, err := os.Open(s.name)
	if err != nil {
		return nil, plain(s.name, err)
	}
	s.Reader, s.close = file, file.Close
	return decompress(s)
}

// historyIn returns the path of the history in a folder.
func historyIn(folder string) (string, error) {
	for _, name := range []string{historyFile, historyFile + ".gz"} {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", plain(path, err)
		}
	}
	return "", fmt.Errorf("%s: expected the file %s in the folder, found none; give the folder that a run has written, or the path of a history", folder, historyFile)
}

// minimumIn returns the minimum that the verdict in a run's folder names, nil if
// there is no verdict, or one of before there were minima.
func minimumIn(folder string) (*linearizability.Counts, error) {
	path := filepath.Join(folder, verdictFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, plain(path, err)
	}
	var verdict struct {
		Minimum *linearizability.Counts `json:"minimum"`
	}
	if err := json.Unmarshal(text, &verdict); err != nil {
		return nil, fmt.Errorf("%s: expected the verdict of the run as JSON, found something else: %w", path, err)
	}
	return verdict.Minimum, nil
}

// plain puts the path before an error of the operating system, once.
func plain(path string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("%s: expected a history, found that it cannot be read: %w", path, err)
}

// How compressed files begin.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

func decompress(s *source) (*source, error) {
	buffered := bufio.NewReaderSize(s.Reader, 1<<16)
	s.Reader = buffered
	magic, _ := buffered.Peek(len(zstdMagic)) // an empty file is for the reader to complain of
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: expected gzip, as its first bytes say, found a broken file: %w", s.name, err), s.close())
		}
		s.Reader = unzipped
	case bytes.Equal(magic, zstdMagic):
		return nil, errors.Join(fmt.Errorf("%s: expected JSON Lines or gzip, found zstd; use `zstd -dc FILE | simrun check -`", s.name), s.close())
	}
	return s, nil
}
