package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/timeline"
)

// file is the intended content of a file in a folder. A file without a write function
// must not exist.
type file struct {
	name  string
	write func(io.Writer) error
}

// text returns a file with the given content; an empty content means that the file must
// not exist.
func text[T string | []byte](name string, content T) file {
	if len(content) == 0 {
		return absent(name)
	}
	return file{name, func(w io.Writer) error {
		_, err := w.Write([]byte(content))
		return err
	}}
}

// absent returns a file to be removed if an earlier run left one.
func absent(name string) file { return file{name: name} }

// writeAll writes files such that none is ever visible half-written and none replaces
// an earlier one before all of them fit on the disk. Content is streamed to the disk:
// if the process is killed meanwhile, the temporary files keep what was written.
func writeAll(folder string, files []file) (err error) {
	if err := traces.CheckFolder(folder); err != nil {
		return err
	}
	temporaries := make([]string, len(files))
	defer func() {
		for _, temporary := range temporaries {
			if temporary != "" {
				os.Remove(temporary) // renamed files are already gone
			}
		}
	}()
	for i, f := range files {
		if f.write == nil {
			continue
		}
		temporaries[i], err = writeTemporary(folder, f)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", filepath.Join(folder, f.name), err)
		}
	}
	for i, f := range files {
		path := filepath.Join(folder, f.name)
		if f.write != nil {
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

// writeTemporary writes a file beside its final place and returns the path. It
// compresses the content if the name says so.
func writeTemporary(folder string, f file) (path string, err error) {
	temporary, err := os.CreateTemp(folder, "."+f.name+"-*")
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(f.name, traces.Zstd) {
		compressed := traces.NewWriter(temporary)
		err = errors.Join(f.write(compressed), compressed.Close())
	} else {
		err = f.write(temporary)
	}
	if err == nil {
		err = temporary.Chmod(0o644)
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	return temporary.Name(), err
}

// readFile reads a file of a folder, compressed or not.
func readFile(folder, name string) ([]byte, error) {
	var content []byte
	path, err := traces.FindIn(folder, name)
	if err == nil {
		content, err = traces.ReadFile(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: expected the file %s, found none; give the folder that a run has written", ErrFolder, path)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%w: expected a folder, found the file %s; give the folder that a run has written", ErrFolder, folder)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: %s: expected a whole compressed file, found one that ends after %d bytes of its content; the file is truncated",
			ErrFolder, path, len(content))
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrFolder, path, err)
	}
	return content, nil
}

// WriteTimeline writes the timeline of a failed run into its folder. `simrun timeline`
// draws those of other runs.
func (r *Run) WriteTimeline(folder string, v Verdict) error {
	if v.Outcome != linearizability.Failed {
		return nil
	}
	page := timeline.Page{
		Title: r.Spec.Name(), History: r.History, Verdict: r.found,
		About: [][2]string{
			{"seed", fmt.Sprint(r.Spec.Seed)}, {"target", r.Spec.Target}, {"scenario", r.Spec.Scenario}, {"mutant", r.Spec.Mutant}, {"use", r.Spec.Use}, {"hash", v.Hash},
		},
	}
	reads, links, err := timeline.Reads(r.History, OracleConfig(), timeline.File)
	if err != nil {
		return err
	}
	page.Links = links
	page.Verdict.Outcome, page.Verdict.Reason = v.Outcome, v.Reason
	var content bytes.Buffer
	if err := timeline.Write(&content, page); err != nil {
		return err
	}
	return writeAll(folder, []file{text(timeline.File, content.Bytes()), text(timeline.ReadsFile, reads)})
}
