package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// longest is how long a test may run. All of them together take a second.
const longest = time.Minute

// workbench is where mutants are tried.
type workbench struct {
	module string
	// scratch holds edited files and overlays.
	scratch string
}

// trial is the result of one mutant.
type trial struct {
	// red is the test that failed, down to its row; empty if none did, in which
	// case why says what happened instead.
	red, why string
	took     time.Duration
}

// try runs the test that must fail, with an edited file.
func (b *workbench) try(ctx context.Context, number int, m *mutant, file, edited string) (result trial) {
	began := time.Now()
	defer func() { result.took = time.Since(began) }()
	overlay, err := b.overlay(number, file, edited)
	if err != nil {
		return trial{why: err.Error()}
	}
	out, err := b.test(ctx, []string{m.test}, "-overlay", overlay)
	return judge(m.test, out, err)
}

// judge says what the outcome of a test proves. A failed assertion is red. A panic
// may come from the broken code itself, which no test is needed to notice.
func judge(test, out string, err error) trial {
	var exit *exec.ExitError
	switch {
	case err == nil && !strings.Contains(out, "--- PASS: "+test+" "):
		return trial{why: "there is no test " + test}
	case err == nil:
		return trial{why: test + " stayed green"}
	case strings.Contains(out, "[build failed]"):
		return trial{why: "it does not compile: " + strings.TrimSpace(out)}
	case strings.Contains(out, "panic: "):
		_, cause, _ := strings.Cut(out, "panic: ")
		cause, _, _ = strings.Cut(cause, "\n")
		return trial{why: test + " panicked: " + cause}
	case !errors.As(err, &exit):
		return trial{why: err.Error()}
	}
	if red := deepest(out); red != "" {
		return trial{red: red}
	}
	return trial{why: test + " ended with " + err.Error()}
}

var failed = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// deepest returns the first failed test, and of its failed rows the innermost.
func deepest(out string) string {
	name := ""
	for _, match := range failed.FindAllStringSubmatch(out, -1) {
		if name == "" || strings.HasPrefix(match[1], name+"/") {
			name = match[1]
		}
	}
	return name
}

// overlay writes an edited file, and the overlay file for the go command.
func (b *workbench) overlay(number int, file, edited string) (path string, err error) {
	source, path := filepath.Join(b.scratch, fmt.Sprint(number, ".go")), filepath.Join(b.scratch, fmt.Sprint(number, ".json"))
	replace := map[string]map[string]string{"Replace": {filepath.Join(b.module, oracle, file): source}}
	text, err := json.Marshal(replace)
	if err != nil {
		return "", err
	}
	return path, errors.Join(os.WriteFile(source, []byte(edited), 0o644), os.WriteFile(path, text, 0o644))
}

// test runs tests of the oracle and returns their output. They are built without vet, which an
// edit need not pass, and without debug information, which takes long to link. rapid draws the
// same cases each time.
func (b *workbench) test(ctx context.Context, tests []string, flags ...string) (string, error) {
	args := append([]string{"test", "-vet=off", "-ldflags=-s -w", "-v", "-failfast", "-count=1", "-timeout=" + longest.String(),
		"-run=^(" + strings.Join(tests, "|") + ")$"}, flags...)
	command := exec.CommandContext(ctx, "go", append(args, "./"+oracle, "-args", "-rapid.seed=1", "-rapid.nofailfile")...)
	command.Dir = b.module
	out, err := command.CombinedOutput()
	return string(out), err
}

// mustBeGreen returns an error unless the tests exist and pass without an edit.
func (b *workbench) mustBeGreen(ctx context.Context, tests []string) error {
	out, err := b.test(ctx, tests)
	if err != nil {
		result := judge("one of them", out, err)
		return fmt.Errorf("the tests must pass before anything is edited: %s", cmp.Or(result.why, result.red+" does not"))
	}
	for _, test := range tests {
		if !strings.Contains(out, "--- PASS: "+test+" ") {
			return fmt.Errorf("there is no test %s in ./%s", test, oracle)
		}
	}
	return nil
}
