package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// The files of a folder of a run.
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
	// judged are the limits of the run's verdict, if the history is in its folder.
	judged limits
}

// limits are those of a run's own verdict.
type limits struct {
	// Minimum is what the history must contain for a conclusive verdict; nil if there
	// is no verdict, or one without a minimum.
	Minimum *linearizability.Counts `json:"minimum"`
	// Window is the minimum number of changes that the run's caches held, 0 for the default.
	Window int `json:"window"`
	// RefreshBound is [linearizability.Config.RefreshBound] of the run, 0 for the default.
	RefreshBound time.Duration `json:"refreshBound"`
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
			if r.Name, r.judged, err = readFolder(path); err != nil {
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

// readFolder returns the path of the history in the folder of a run, and the limits of the
// run's verdict.
func readFolder(folder string) (history string, judged limits, err error) {
	history, err = traces.FindIn(folder, historyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", judged, fmt.Errorf("%s: expected the file %s in the folder, found none; give the folder of a run, or the path of a history", folder, historyFile)
	}
	if err != nil {
		return "", judged, unreadable(folder, err)
	}
	path, err := traces.FindIn(folder, verdictFile)
	if errors.Is(err, fs.ErrNotExist) {
		return history, judged, nil
	}
	if err != nil {
		return "", judged, unreadable(path, err)
	}
	text, err := traces.ReadFile(path)
	if err != nil {
		return "", judged, unreadable(path, err)
	}
	if err := json.Unmarshal(text, &judged); err != nil {
		return "", judged, fmt.Errorf("%s: expected the verdict of the run as JSON, found something else: %w", path, err)
	}
	return history, judged, nil
}

// unreadable prefixes an error with the path, once.
func unreadable(path string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return fmt.Errorf("%s: expected a history, found that it cannot be read: %w", path, of.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
