package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/traces"
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
// compressed is read as what it holds.
func open(path string, stdin io.Reader) (*source, error) {
	if path == Stdin {
		content, err := traces.NewReader(stdin)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return &source{Reader: content, close: content.Close, name: "standard input"}, nil
	}
	info, err := os.Stat(path)
	if found, missing := traces.FindFile(path); err != nil && missing == nil {
		path = found // the other form of the name
		info, err = os.Stat(path)
	}
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
	content, err := traces.OpenFile(s.name)
	if errors.Is(err, traces.ErrBroken) {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	if err != nil {
		return nil, plain(s.name, err)
	}
	s.Reader, s.close = content, content.Close
	return s, nil
}

// historyIn returns the path of the history in a folder.
func historyIn(folder string) (string, error) {
	path, err := traces.FindFile(filepath.Join(folder, historyFile))
	switch {
	case err == nil:
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", plain(path, err)
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
