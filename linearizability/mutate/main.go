// Command mutate answers one question: would a test notice if a rule of the
// oracle were broken?
//
// It breaks the code of each guarantee on purpose, one edit at a time, and runs the
// test that docs/oracle.md names for it. The test must fail. The edits are made in
// copies that the go command overlays, so no file of the project changes. First, the
// same tests must pass without an edit. An edit that does not compile, panics or does
// not terminate proves nothing, and is reported like one that no test noticed.
//
//	go run ./linearizability/mutate [--only GUARANTEE] [--parallel 2]
//
// The exit code is 0 if each edit made its test fail, 1 if one did not, and 2 if the
// edits could not be tried.
//
// mutants.go has the edits, mutant.go makes one, and trial.go tries it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes.
const (
	allRed = iota
	someGreen
	notTried
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "try only the mutants of one `guarantee`")
	parallel := flags.Int("parallel", 2, "how many mutants to build and run at a time")
	if err := flags.Parse(args); err != nil {
		return notTried
	}
	chosen := mutants
	if *only != "" {
		chosen = slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.guarantee != *only })
	}
	switch {
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "mutate: expected flags only, found %q\n", flags.Arg(0))
		return notTried
	case len(chosen) == 0:
		fmt.Fprintf(stderr, "mutate: expected the name of a guarantee that has mutants, found %q\n", *only)
		return notTried
	case *parallel < 1:
		fmt.Fprintf(stderr, "mutate: expected at least 1 mutant at a time, found %d\n", *parallel)
		return notTried
	}
	green, err := tryAll(ctx, chosen, *parallel, stdout)
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "mutate: %s\n", err)
		return notTried
	case green > 0:
		return someGreen
	}
	return allRed
}

// tryAll tries mutants, prints a table of them in order, and returns how many no
// test noticed.
func tryAll(ctx context.Context, chosen []mutant, parallel int, stdout io.Writer) (green int, err error) {
	began := time.Now()
	module, err := moduleFolder(ctx)
	if err != nil {
		return 0, err
	}
	// All are edited first, as an anchor that has changed is the most likely mistake.
	files, edited := make([]string, len(chosen)), make([]string, len(chosen))
	for i, m := range chosen {
		if files[i], edited[i], err = m.apply(filepath.Join(module, oracle)); err != nil {
			return 0, err
		}
	}
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, fmt.Errorf("make a folder for the edited files: %w", err)
	}
	defer os.RemoveAll(scratch)
	bench := &workbench{module: module, scratch: scratch}
	if err := bench.mustBeGreen(ctx, testsOf(chosen)); err != nil {
		return 0, err
	}
	fmt.Fprintf(stdout, "without an edit, the %d tests are green\n\n", len(testsOf(chosen)))

	results := make([]chan trial, len(chosen))
	next := make(chan int, len(chosen))
	for i := range chosen {
		results[i] = make(chan trial, 1)
		next <- i
	}
	close(next)
	for range parallel {
		go func() {
			for i := range next {
				results[i] <- bench.try(ctx, i, &chosen[i], files[i], edited[i])
			}
		}()
	}
	fmt.Fprintf(stdout, "%-14s  %-13s  %-66s  %6s  %s\n", "GUARANTEE", "FILE", "EDIT", "TIME", "RED TEST")
	rules := map[string]bool{}
	for i, m := range chosen {
		result := <-results[i]
		if ctx.Err() != nil {
			return 0, errors.New("interrupted")
		}
		verdict := result.red
		if verdict == "" {
			green++
			verdict = "NONE: " + result.why
		}
		rules[m.guarantee] = true
		fmt.Fprintf(stdout, "%-14s  %-13s  %-66s  %5.1fs  %s\n", m.guarantee, files[i], m.breaks, result.took.Seconds(), verdict)
	}
	fmt.Fprintf(stdout, "\n%d of %d mutants of %d rules turned their test red, in %s\n",
		len(chosen)-green, len(chosen), len(rules), time.Since(began).Round(time.Second))
	return green, nil
}

// testsOf returns the tests that mutants name, each once.
func testsOf(chosen []mutant) []string {
	var tests []string
	for _, m := range chosen {
		tests = append(tests, m.test)
	}
	slices.Sort(tests)
	return slices.Compact(tests)
}

// moduleFolder returns the root of the module that the command runs in.
func moduleFolder(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module's folder with go list -m: %w", err)
	}
	path, folder, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if path != modulePath {
		return "", fmt.Errorf("expected to run within the module %s, found %s", modulePath, path)
	}
	return folder, nil
}
