package main

import (
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
	// scratch holds edited files, overlays and test binaries.
	scratch string
}

// trial is the result of one mutant.
type trial struct {
	// red is the test that failed, down to its row; empty if none did, in which
	// case why says what happened instead.
	red, why string
	took     time.Duration
}

// try builds the oracle's tests with an edited file and runs the one that must
// fail.
func (b *workbench) try(ctx context.Context, number int, m *mutant, edited string) (result trial) {
	began := time.Now()
	defer func() { result.took = time.Since(began) }()
	overlay, err := b.overlay(number, m, edited)
	if err != nil {
		return trial{why: err.Error()}
	}
	binary, err := b.build(ctx, fmt.Sprint(number), "-overlay", overlay)
	if err != nil {
		return trial{why: "it does not compile: " + err.Error()}
	}
	defer os.Remove(binary)
	out, err := b.test(ctx, binary, []string{m.test})
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
func (b *workbench) overlay(number int, m *mutant, edited string) (path string, err error) {
	folder := filepath.Join(b.scratch, fmt.Sprint(number))
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(folder, m.file)
	if err := os.WriteFile(file, []byte(edited), 0o644); err != nil {
		return "", err
	}
	replace := map[string]map[string]string{"Replace": {filepath.Join(b.module, oracle, m.file): file}}
	text, err := json.Marshal(replace)
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// build makes a test binary of the oracle, without vet, which an edit need not
// pass, and without debug information, which takes long to link.
func (b *workbench) build(ctx context.Context, name string, flags ...string) (binary string, err error) {
	binary = filepath.Join(b.scratch, name+".test")
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, flags...)
	command := exec.CommandContext(ctx, "go", append(args, "./"+oracle)...)
	command.Dir = b.module
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return binary, nil
}

// test runs tests of a test binary and returns their output. rapid draws the same
// cases each time.
func (b *workbench) test(ctx context.Context, binary string, tests []string) (string, error) {
	command := exec.CommandContext(ctx, binary, "-test.v", "-test.failfast", "-test.count=1", "-test.timeout="+longest.String(),
		"-test.run=^("+strings.Join(tests, "|")+")$", "-rapid.seed=1", "-rapid.nofailfile")
	command.Dir = filepath.Join(b.module, oracle)
	out, err := command.CombinedOutput()
	return string(out), err
}

// mustBeGreen returns an error unless the tests exist and pass without an edit.
func (b *workbench) mustBeGreen(ctx context.Context, tests []string) error {
	binary, err := b.build(ctx, "unedited")
	if err != nil {
		return fmt.Errorf("the oracle's tests do not compile: %w", err)
	}
	defer os.Remove(binary)
	out, err := b.test(ctx, binary, tests)
	if err != nil {
		return fmt.Errorf("the tests must pass before anything is edited, but %s does not: %w", deepest(out), err)
	}
	for _, test := range tests {
		if !strings.Contains(out, "--- PASS: "+test+" ") {
			return fmt.Errorf("there is no test %s in ./%s", test, oracle)
		}
	}
	return nil
}
