package simtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// keptDir is the folder with the kept failures of a test, below that of its package.
func keptDir(test string) string {
	return filepath.Join("testdata", "simtest", strings.ReplaceAll(test, "/", "-"))
}

// kept are the failures of a test that are run first, by their seeds.
func kept(test string) (jobs []job, err error) {
	entries, err := os.ReadDir(keptDir(test))
	if os.IsNotExist(err) {
		return nil, nil
	}
	for _, entry := range entries {
		number, is := strings.CutPrefix(entry.Name(), "seed-")
		number, _, _ = strings.Cut(number, ".")
		seed, notNumber := strconv.ParseUint(number, 10, 64)
		if !is || notNumber != nil {
			continue
		}
		path := filepath.Join(keptDir(test), entry.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		next := job{Seed: seed, Kept: path, Plan: string(content), HasPlan: strings.Contains(string(content), planHeader)}
		if next.Drawn, err = drawnOf(string(content)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		next.Value = keptValue(string(content))
		jobs = append(jobs, next)
	}
	slices.SortFunc(jobs, func(a, b job) int { return int(a.Seed) - int(b.Seed) })
	return jobs, err
}

// maxKeptLines is how many lines of a report are kept with a failure.
const maxKeptLines = 20

// planHeader begins the plan in the file of a failure.
const planHeader = "# watchsim plan"

// drawnHeader begins a line with the words of a value in the file of a failure: the value's name,
// and the words in brackets.
const drawnHeader = "# watchsim drawn "

// drawnOf reads the words of values from the file of a failure.
func drawnOf(content string) (map[string][]uint64, error) {
	var drawn map[string][]uint64
	for line := range strings.Lines(content) {
		text, is := strings.CutPrefix(line, drawnHeader)
		if !is {
			continue
		}
		name, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, fmt.Errorf("expected a name in quotes after %q, found %q", drawnHeader, line)
		}
		var words []uint64
		for _, word := range strings.Fields(strings.Trim(strings.TrimSpace(text[len(name):]), "[]")) {
			number, err := strconv.ParseUint(word, 16, 64)
			if err != nil {
				return nil, fmt.Errorf("expected hexadecimal numbers of 64 bits after %s%s, found %q", drawnHeader, name, word)
			}
			words = append(words, number)
		}
		if name, err = strconv.Unquote(name); err != nil {
			return nil, err
		}
		if drawn == nil {
			drawn = map[string][]uint64{}
		}
		drawn[name] = words
	}
	return drawn, nil
}

// keep writes a failure to where it runs first next time, unless it is already kept. The file is a
// plan of faults, with the report in its comments. If the seed has a file of another failure, this
// one gets a number after its name.
func keep(test string, r report) (path string, err error) {
	if r.Kept != "" {
		return r.Kept, nil
	}
	if err := os.MkdirAll(keptDir(test), 0o755); err != nil {
		return "", err
	}
	text := fmt.Sprintf("# Seed %d of %s failed. Delete this file once it is of no use.\n", r.Seed, test)
	lines := strings.Split(strings.TrimSpace(strings.Join(r.Log, "\n")+"\n"+r.Stop), "\n")
	for _, line := range lines[:min(len(lines), maxKeptLines)] {
		text += "# " + line + "\n"
	}
	if r.Value != nil {
		text += fmt.Sprintf("%s%s\n", valueHeader, r.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Drawn)) {
		text += fmt.Sprintf("%s%q %x\n", drawnHeader, name, r.Drawn[name])
	}
	if r.Plan != "" {
		text += r.Plan
	}
	path = filepath.Join(keptDir(test), fmt.Sprintf("seed-%d", r.Seed))
	for number := 2; ; number++ {
		before, err := os.ReadFile(path)
		switch {
		case os.IsNotExist(err):
			return path, os.WriteFile(path, []byte(text), 0o644)
		case err != nil || string(before) == text:
			return path, err
		}
		path = filepath.Join(keptDir(test), fmt.Sprintf("seed-%d.%d", r.Seed, number))
	}
}
