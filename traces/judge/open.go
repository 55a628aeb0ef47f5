package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// The files that are looked for in a folder.
const (
	historyFile = "history.jsonl"
	verdictFile = "verdict.json"
)

// Stdin stands for standard input in place of a path.
const Stdin = "-"

// Recorded is a valid history that was read.
type Recorded struct {
	// Name is the path of the file itself.
	Name    string
	Header  traces.Header
	History *model.History
	// minimum is what the history has to hold lest it be vacuous, if it lies in the
	// folder of a run whose verdict says so.
	minimum *linearizability.Counts
}

// Read reads a history from a file, from the folder of a run, or from [Stdin]. What it
// returns is safe to print: see [traces.PrintableHistory]. Its errors name the file.
func Read(path string, stdin io.Reader) (Recorded, error) {
	r := Recorded{Name: path}
	var content io.ReadCloser
	var err error
	if path == Stdin {
		r.Name = "standard input"
		content, err = traces.NewReader(stdin)
	} else {
		if about, missing := os.Stat(path); missing == nil && about.IsDir() {
			if r.Name, r.minimum, err = readFolder(path); err != nil {
				return r, err
			}
		} else if r.Name, err = traces.FindFile(path); err != nil {
			return r, unreadable(path, err)
		}
		content, err = traces.OpenFile(r.Name)
	}
	if err != nil {
		return r, unreadable(r.Name, err)
	}
	r.Header, r.History, err = traces.ReadValidHistory(content)
	if err = errors.Join(err, content.Close()); err != nil {
		return r, fmt.Errorf("%s: %w", r.Name, err)
	}
	traces.PrintableHistory(&r.Header, r.History)
	return r, nil
}

// readFolder returns the path of the history in the folder of a run, and the minimum
// that the run's verdict names; nil if there is no verdict, or one without a minimum.
func readFolder(folder string) (history string, minimum *linearizability.Counts, err error) {
	history, err = traces.FindIn(folder, historyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("%s: expected the file %s in the folder, found none; give the folder that a run has written, or the path of a history", folder, historyFile)
	}
	if err != nil {
		return "", nil, unreadable(folder, err)
	}
	path, err := traces.FindIn(folder, verdictFile)
	if errors.Is(err, fs.ErrNotExist) {
		return history, nil, nil
	}
	if err != nil {
		return "", nil, unreadable(path, err)
	}
	text, err := traces.ReadFile(path)
	if err != nil {
		return "", nil, unreadable(path, err)
	}
	var verdict struct {
		Minimum *linearizability.Counts `json:"minimum"`
	}
	if err := json.Unmarshal(text, &verdict); err != nil {
		return "", nil, fmt.Errorf("%s: expected the verdict of the run as JSON, found something else: %w", path, err)
	}
	return history, verdict.Minimum, nil
}

// unreadable puts the path before an error, once.
func unreadable(path string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return fmt.Errorf("%s: expected a history, found that it cannot be read: %w", path, of.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
