package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/search/mutant"
)

// result is one line of the file: a trial, or the result of a suite.
type result struct {
	Mutant string `json:"mutant"`
	// Key identifies the edit, so that results of an older edit are not used.
	Key string `json:"edit"`

	// Trial counts from 1; 0 for a suite.
	Trial int `json:"trial,omitempty"`
	// Strategy chose the schedules if strategies are compared; empty for simrun's own.
	Strategy string `json:"strategy,omitempty"`
	Hunt     string `json:"hunt,omitempty"`
	First    uint64 `json:"first,omitempty"`
	// Seeds is how many were run, including the one that failed.
	Seeds        int `json:"seeds,omitempty"`
	Inconclusive int `json:"inconclusive,omitempty"`
	// Undecided are the seeds that were inconclusive.
	Undecided []undecided `json:"undecided,omitempty"`
	// NoEffect is true if nothing was found, and every run has the same hash as without the edit.
	NoEffect bool `json:"no_effect,omitempty"`
	// Found is the seed that failed with the bug and passes without it, 0 if none did.
	Found      uint64   `json:"found,omitempty"`
	Guarantees []string `json:"guarantees,omitempty"`
	// Witness is what the first trial showed; one is enough as an example.
	Witness string `json:"witness,omitempty"`
	// Unconfirmed are the seeds that failed for another reason than the bug: they do not pass
	// without it, or broke what it cannot break.
	Unconfirmed []uint64 `json:"unconfirmed,omitempty"`
	// Seconds is the processor time of the trial, and Wall the real time.
	Seconds float64 `json:"seconds,omitempty"`
	Wall    float64 `json:"wall_seconds,omitempty"`
	// Together is how many mutants were switched on at a time, 0 for one.
	Together int `json:"together,omitempty"`
	// Budget is the number of seeds available to the trial.
	Budget int `json:"budget,omitempty"`

	// Smaller is the result of shrinking the failing run, if that was done.
	Smaller *smaller `json:"smaller,omitempty"`

	// Suite is the package whose tests were run, Red the tests that failed with the edit, twice,
	// and pass without it, and RedAnyway those that also fail without it.
	Suite     string   `json:"suite,omitempty"`
	Red       []string `json:"red,omitempty"`
	RedAnyway []string `json:"red_anyway,omitempty"`
}

// undecided is a seed that was inconclusive.
type undecided struct {
	Seed   uint64 `json:"seed"`
	Reason string `json:"reason"`
}

// results is the results file and its contents.
type results struct {
	file *os.File
	all  []result
}

// openResults reads a results file, and opens it for appending.
func openResults(path string) (*results, error) {
	r := &results{}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--results: %w", err)
	}
	for line := range bytes.Lines(text) {
		var read result
		if err := json.Unmarshal(line, &read); err != nil {
			return nil, fmt.Errorf("--results: %s:%d: expected a result as JSON, found %v; delete the line", path, len(r.all)+1, err)
		}
		r.all = append(r.all, read)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("--results: %w", err)
	}
	if r.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("--results: %w", err)
	}
	return r, nil
}

func (r *results) close() { r.file.Close() }

// add writes a result at once, so that an interrupted hunt loses at most one trial.
func (r *results) add(added result) error {
	r.all = append(r.all, added)
	return json.NewEncoder(r.file).Encode(added)
}

// keyOf identifies an edit together with the runs in which it is hunted.
func keyOf(m mutant.Mutant) string {
	words := append(editWords(m), strings.Join(m.Hunt, " "))
	return fmt.Sprintf("%08x", hash(append(words, m.Breaks...)...))
}

// trialsOf returns each trial of simrun's own strategy once: the last one, if it was repeated with
// more seeds.
func trialsOf(all []result, m mutant.Mutant) []result { return trialsBy(all, m, "") }

// trialsBy is trialsOf for one of the compared strategies.
func trialsBy(all []result, m mutant.Mutant, strategy string) []result {
	key := keyOf(m)
	var trials []result
	for _, one := range all {
		if one.Mutant != m.Name || one.Key != key || one.Trial == 0 || one.Strategy != strategy {
			continue
		}
		trials = slices.DeleteFunc(trials, func(earlier result) bool { return earlier.Trial == one.Trial })
		trials = append(trials, one)
	}
	return trials
}

// detections returns how many seeds, and how many seconds of processor time, the successful trials
// took, and how many seeds all trials ran.
func detections(trials []result) (seeds, seconds []float64, ran int) {
	for _, r := range trials {
		ran += r.Seeds
		if r.Found > 0 {
			seeds, seconds = append(seeds, float64(r.Seeds)), append(seconds, r.Seconds)
		}
	}
	return seeds, seconds, ran
}

// suitesOf returns the suites' results for a mutant's edit, whatever runs it is hunted in.
func suitesOf(all []result, m mutant.Mutant) []result {
	key := suiteKeyOf(m)
	return slices.DeleteFunc(slices.Clone(all), func(one result) bool {
		return one.Mutant != m.Name || one.Key != key || one.Suite == ""
	})
}

// hash returns a short name for some words.
func hash(words ...string) uint32 {
	h := fnv.New32a()
	for _, word := range words {
		fmt.Fprintf(h, "%d:%s", len(word), word)
	}
	return h.Sum32()
}

func suiteKeyOf(m mutant.Mutant) string { return fmt.Sprintf("%08x", hash(editWords(m)...)) }

// editWords returns everything that a mutant's edits consist of.
func editWords(m mutant.Mutant) (words []string) {
	for _, p := range m.Patches() {
		words = append(words, p.Module, p.File, p.Anchor, p.Replacement)
	}
	return words
}
