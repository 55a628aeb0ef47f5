package swarm

import (
	"compress/gzip"
	"errors"
	"os"

	"github.com/watchsim/watchsim/sim"
)

// writeTrace writes a trace, compressed.
func writeTrace(path string, trace sim.Trace) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	compressed := gzip.NewWriter(file)
	return errors.Join(trace.Write(compressed), compressed.Close(), file.Close())
}

// trace is a compressed trace in a file.
type trace struct {
	*gzip.Reader
	file *os.File
}

func openTrace(path string) (trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return trace{}, err
	}
	reader, err := gzip.NewReader(file)
	if err != nil {
		return trace{}, errors.Join(err, file.Close())
	}
	return trace{reader, file}, nil
}

func (t trace) Close() error { return errors.Join(t.Reader.Close(), t.file.Close()) }

// ReadPoints reads the synchronisation points of the trace that a job has left, up
// to so many.
func ReadPoints(path string, most int) ([]sim.Point, error) {
	from, err := openTrace(path)
	if err != nil {
		return nil, err
	}
	points, err := sim.ReadPoints(from, most)
	return points, errors.Join(err, from.Close())
}

// PrintTrace turns the trace that a job has left into text, and removes it.
func PrintTrace(compressed, text string) error {
	from, err := openTrace(compressed)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(text)
	if err != nil {
		return err
	}
	if err := errors.Join(sim.PrintTrace(from, to), to.Close()); err != nil {
		return err
	}
	return os.Remove(compressed)
}
