package isolate

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// inside is the test as a copy sees it. It records logs and failures for the test outside.
// It has no lock: in a copy goroutines are not preempted, and a lock would alter the run
// under test.
type inside struct {
	testing.TB // for its name and its context
	log        []string
	failed     bool
	skipped    bool
	cleanups   []func()
}

// cleanUp calls the registered cleanup functions, last one first.
func (in *inside) cleanUp() {
	for len(in.cleanups) > 0 {
		last := in.cleanups[len(in.cleanups)-1]
		in.cleanups = in.cleanups[:len(in.cleanups)-1]
		last()
	}
}

// say records a line with its origin.
func (in *inside) say(text string) {
	if _, file, line, ok := runtime.Caller(2); ok {
		text = fmt.Sprintf("%s:%d: %s", filepath.Base(file), line, text)
	}
	in.log = append(in.log, text)
}

func (in *inside) Cleanup(f func()) { in.cleanups = append(in.cleanups, f) }

func (in *inside) Helper() {}

func (in *inside) Log(arguments ...any) { in.say(fmt.Sprint(arguments...)) }

func (in *inside) Logf(format string, arguments ...any) { in.say(fmt.Sprintf(format, arguments...)) }

func (in *inside) Error(arguments ...any) {
	in.say(fmt.Sprint(arguments...))
	in.Fail()
}

func (in *inside) Errorf(format string, arguments ...any) {
	in.say(fmt.Sprintf(format, arguments...))
	in.Fail()
}

func (in *inside) Fatal(arguments ...any) {
	in.say(fmt.Sprint(arguments...))
	in.FailNow()
}

func (in *inside) Fatalf(format string, arguments ...any) {
	in.say(fmt.Sprintf(format, arguments...))
	in.FailNow()
}

func (in *inside) Fail() { in.failed = true }

func (in *inside) FailNow() {
	in.failed = true
	runtime.Goexit()
}

func (in *inside) Failed() bool { return in.failed }

func (in *inside) Skip(arguments ...any) {
	in.say(fmt.Sprint(arguments...))
	in.SkipNow()
}

func (in *inside) Skipf(format string, arguments ...any) {
	in.say(fmt.Sprintf(format, arguments...))
	in.SkipNow()
}

func (in *inside) SkipNow() {
	in.skipped = true
	runtime.Goexit()
}

func (in *inside) Skipped() bool { return in.skipped }

// Output returns a writer for code that does not have the test.
func (in *inside) Output() io.Writer { return os.Stderr }

// TempDir returns a folder outside of the simulation that is removed when the copy's body
// ends.
func (in *inside) TempDir() string {
	dir, err := os.MkdirTemp("", "isolate-")
	if err != nil {
		in.Fatal(err)
	}
	in.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
