package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
)

const (
	// maxControl bounds the time of a package's tests without an edit, and maxLonger the factor by
	// which they may take longer with one.
	maxControl = 15 * time.Minute
	maxLonger  = 4
	// minLonger is added, for packages whose tests take almost no time.
	minLonger = time.Minute
)

// unnamed stands for tests that a process did not report because it panicked.
const unnamed = "(a panic)"

// suites runs the tests of each package that the chosen mutants edit: without an edit, and then
// with each. They run as their authors run them, with the installed Go and no simulation. A failure
// that also occurs without the edit, or does not occur again, proves nothing.
func (h *hunter) suites(ctx context.Context, chosen []mutant.Mutant) error {
	var packages []string
	missing := map[string][]mutant.Mutant{}
	for _, m := range chosen {
		if len(suitesOf(h.results.all, m)) > 0 {
			continue
		}
		if slices.ContainsFunc(m.Patches(), func(p overlay.Patch) bool { return p.Module != m.Module }) {
			fmt.Fprintf(h.stdout, "%-24s edits several modules, whose tests run apart: left out\n", m.Name)
			continue
		}
		pkg := path.Join(m.Module, path.Dir(m.File))
		if missing[pkg] == nil {
			packages = append(packages, pkg)
		}
		missing[pkg] = append(missing[pkg], m)
	}
	for _, pkg := range packages {
		if err := h.suite(ctx, pkg, missing[pkg]); err != nil {
			return fmt.Errorf("the tests of %s: %w", pkg, err)
		}
	}
	return nil
}

// suite runs the tests of one package with each of some mutants.
func (h *hunter) suite(ctx context.Context, pkg string, mutants []mutant.Mutant) error {
	tests, err := buildTests(ctx, pkg, mutants)
	if err != nil {
		return err
	}
	defer tests.remove()
	control, err := tests.run(ctx, "", nil, maxControl)
	if err != nil {
		return err
	}
	if slices.Contains(control.red, unnamed) {
		return fmt.Errorf("expected tests that can be run without an edit, found a panic: %s", control.end)
	}
	fmt.Fprintf(h.stdout, "%s without an edit: %d tests in %.0f s; %s\n", pkg, control.ran, control.took.Seconds(), redText(control.red))
	for _, m := range mutants {
		r := result{Mutant: m.Name, Key: suiteKeyOf(m), Suite: pkg, RedAnyway: control.red}
		if r.Red, r.Seconds, err = notice(ctx, tests.run, m, control); err != nil {
			return err
		}
		fmt.Fprintf(h.stdout, "%-24s %s: %s\n", m.Name, pkg, redText(r.Red))
		if err := h.results.add(r); err != nil {
			return err
		}
	}
	return nil
}

// suiteRunner runs the tests of a package with a mutant on, or none: all, or those that
// are named.
type suiteRunner func(ctx context.Context, on string, only []string, most time.Duration) (suiteRun, error)

// notice returns the tests that fail with an edit twice, and pass without it; and the real time of
// the first run in seconds.
func notice(ctx context.Context, run suiteRunner, m mutant.Mutant, control suiteRun) (red []string, seconds float64, err error) {
	most := maxLonger*control.took + minLonger
	first, err := run(ctx, m.Name, nil, most)
	if err != nil {
		return nil, 0, err
	}
	red = slices.DeleteFunc(first.red, func(name string) bool { return slices.Contains(control.red, name) })
	if len(red) == 0 {
		return nil, first.took.Seconds(), nil
	}
	only := red
	if slices.Contains(red, unnamed) {
		only = nil
	}
	second, err := run(ctx, m.Name, only, most)
	if err != nil {
		return nil, 0, err
	}
	red = slices.DeleteFunc(slices.Clone(red), func(name string) bool { return !slices.Contains(second.red, name) })
	return red, first.took.Seconds(), nil
}

// suiteRun is the result of one run of a package's tests.
type suiteRun struct {
	// red are the tests that failed, ran is how many ended, either way.
	red  []string
	ran  int
	took time.Duration
	// end is the end of the output.
	end string
}

// run is a suiteRunner.
func (t *packageTests) run(ctx context.Context, on string, only []string, most time.Duration) (suiteRun, error) {
	arguments := []string{"-test.v=test2json", "-test.timeout", most.String()}
	if len(only) > 0 {
		arguments = append(arguments, "-test.run", "^("+strings.Join(only, "|")+")$")
	}
	command := exec.CommandContext(ctx, t.binary, arguments...)
	command.Dir = t.folder
	command.Env = append(command.Environ(), mutant.Variable+"="+on)
	began := time.Now()
	out, err := command.CombinedOutput()
	took := time.Since(began)
	if ctx.Err() != nil {
		return suiteRun{}, ctx.Err()
	}
	events := exec.Command("go", "tool", "test2json")
	events.Stdin = bytes.NewReader(out)
	told, failed := events.Output()
	if failed != nil {
		return suiteRun{}, fmt.Errorf("cannot read what tests print: %w", failed)
	}
	ran := readEvents(told)
	ran.took = took
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return ran, err
	case err == nil && ran.ran == 0:
		return ran, fmt.Errorf("expected tests, found none: %s", ran.end)
	case err != nil && len(ran.red) == 0:
		ran.red = []string{unnamed}
	}
	return ran, nil
}

// stillRunning matches the names of tests that a time limit ended.
var stillRunning = regexp.MustCompile(`^\t+(Test\w+)(/.*)? \(`)

// readEvents parses the output of `go tool test2json`.
func readEvents(out []byte) suiteRun {
	var ran suiteRun
	fail := func(name string) {
		if !slices.Contains(ran.red, name) {
			ran.red = append(ran.red, name)
		}
	}
	var printed strings.Builder
	listed := false // the tests that are still running
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil {
			continue
		}
		printed.WriteString(event.Output)
		name, _, isPart := strings.Cut(event.Test, "/")
		switch ended := event.Action == "pass" || event.Action == "fail" || event.Action == "skip"; {
		case strings.Contains(event.Output, "running tests:"):
			listed = true
		case listed && stillRunning.MatchString(event.Output):
			fail(stillRunning.FindStringSubmatch(event.Output)[1])
		case ended && name != "":
			if !isPart {
				ran.ran++
			}
			if event.Action == "fail" {
				fail(name)
			}
		}
	}
	ran.end = lastLines(printed.String())
	return ran
}

func redText(red []string) string {
	if len(red) == 0 {
		return "silent"
	}
	return "red: " + strings.Join(red, ", ")
}

// lastLines returns the end of a text: why a process gave up.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
