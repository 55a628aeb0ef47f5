package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim/mutant"
	"github.com/watchsim/watchsim/sim/selfbuild"
)

// trialSeeds is how far the first seeds of two trials lie apart, so that no two
// trials have a seed in common.
const trialSeeds = 1_000_000

// hunter makes trials.
type hunter struct {
	options options
	results *results
	stdout  io.Writer
	// binary is simrun with all mutants inside and off, built when first needed.
	binary string
}

// mutant makes the trials of one mutant that are missing.
func (h *hunter) mutant(ctx context.Context, m mutant.Mutant) error {
	trials, seeds := h.options.trials, h.options.seeds
	if h.options.short {
		trials, seeds = 1, m.Budget
	}
	done := h.results.trials(m)
	for trial := 1; trial <= trials; trial++ {
		if slices.ContainsFunc(done, func(r result) bool { return r.Trial == trial && (r.Found > 0 || r.Budget >= seeds) }) {
			continue
		}
		if err := h.build(); err != nil {
			return err
		}
		r, err := h.trial(ctx, m, trial, seeds)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.New("interrupted; what had ended is in " + h.options.results)
		}
		if err := h.results.add(r); err != nil {
			return err
		}
		fmt.Fprintf(h.stdout, "%-24s trial %2d: %s\n", m.Name, trial, r.text())
		if r.Found == 0 && m.Equivalent == "" {
			break // one that is hard to find takes the whole budget each time
		}
	}
	return nil
}

// build builds simrun with every mutant inside.
func (h *hunter) build() error {
	if h.binary != "" {
		return nil
	}
	fmt.Fprintln(h.stdout, "building simrun with all mutants inside; minutes the first time")
	began := time.Now()
	var err error
	if h.binary, err = selfbuild.BuildSwitched(mutant.All()); err == nil {
		fmt.Fprintf(h.stdout, "built in %.0f s\n", time.Since(began).Seconds())
	}
	return err
}

// chunkSeeds is how many seeds one process of simrun runs. What it used is known when
// it has ended, so that a trial may go over its time by that much.
const chunkSeeds = 250

// trial runs seeds until one of them shows the bug.
func (h *hunter) trial(ctx context.Context, m mutant.Mutant, number, seeds int) (result, error) {
	first := uint64(number-1)*trialSeeds + 1
	r := result{Mutant: m.Name, Key: keyOf(m), Trial: number, Hunt: strings.Join(m.Hunt, " "), First: first}
	began := time.Now()
	var used time.Duration
	for r.Found == 0 && r.Seeds < seeds && used < h.options.time && ctx.Err() == nil {
		from := first + uint64(r.Seeds)
		to := first + uint64(min(r.Seeds+chunkSeeds, seeds)) - 1
		spent, err := h.chunk(ctx, m, &r, from, to)
		used += spent
		if err != nil {
			return r, fmt.Errorf("hunting %s: %w", m.Name, err)
		}
	}
	r.Seconds, r.Wall, r.Budget = used.Seconds(), time.Since(began).Seconds(), seeds
	if r.Found == 0 {
		r.Budget = r.Seeds // fewer, if the time ran out first
	}
	return r, nil
}

// chunk runs some seeds of a trial and notes what came of them.
func (h *hunter) chunk(ctx context.Context, m mutant.Mutant, r *result, from, to uint64) (time.Duration, error) {
	var failure error // of the comparison
	expected := r.Seeds + int(to-from) + 1
	used, err := runSeeds(ctx, h.binary, m.Name, arguments(m, "--seeds", fmt.Sprintf("%d-%d", from, to)), func(v verdict) bool {
		r.Seeds++
		switch {
		case v.Outcome == passed:
			return true
		case v.tooSlow() || v.Outcome != failed && !v.neverEnds():
			r.Inconclusive++
			return true
		}
		if !canBreak(m, v) {
			r.Unconfirmed = append(r.Unconfirmed, v.Seed)
			return true
		}
		passes, err := h.passesWithout(ctx, m, v.Seed)
		switch {
		case err != nil:
			failure = err
			return false
		case !passes:
			r.Unconfirmed = append(r.Unconfirmed, v.Seed)
			return true
		}
		r.Found, r.Guarantees, r.Witness = v.Seed, v.guarantees(), v.witness()
		return false
	})
	if err == nil && failure == nil && r.Found == 0 && r.Seeds < expected && ctx.Err() == nil {
		err = fmt.Errorf("expected verdicts on seeds %d to %d, found %d less", from, to, expected-r.Seeds)
	}
	return used, errors.Join(err, failure)
}

// canBreak reports whether a failure can be the mutant's.
func canBreak(m mutant.Mutant, v verdict) bool {
	return len(m.Breaks) == 0 || !slices.ContainsFunc(v.guarantees(), func(name string) bool { return !slices.Contains(m.Breaks, name) })
}

// slowMost is how often a run is tried that real time was too short for.
const slowMost = 3

// passesWithout runs a seed that failed without the bug. Released code has bugs of
// its own, and a failure that needs no edit is none of the edit's.
func (h *hunter) passesWithout(ctx context.Context, m mutant.Mutant, seed uint64) (bool, error) {
	passes, slow := false, true
	var err error
	for range slowMost {
		if !slow || err != nil {
			break
		}
		_, err = runSeeds(ctx, h.binary, "", arguments(m, "--seed", fmt.Sprint(seed)), func(v verdict) bool {
			passes, slow = v.Outcome == passed, v.tooSlow()
			return true
		})
	}
	return passes, err
}

// arguments are the flags for runs that a mutant is looked for in. The bug is named
// in the environment: the flag would build a program with that bug alone.
func arguments(m mutant.Mutant, seeds ...string) []string {
	flags := append(slices.Clone(m.Hunt), seeds...)
	if m.Target != "" {
		flags = append(flags, "--target", m.Target)
	}
	return flags
}

// text says what a trial came to.
func (r result) text() string {
	var words []string
	if r.Found > 0 {
		words = append(words, fmt.Sprintf("seed %d, the %s, breaks %s", r.Found, ordinal(r.Seeds), strings.Join(r.Guarantees, ", ")))
	} else {
		words = append(words, fmt.Sprintf("nothing in %d seeds", r.Seeds))
	}
	if r.Inconclusive > 0 {
		words = append(words, fmt.Sprintf("%d inconclusive", r.Inconclusive))
	}
	if len(r.Unconfirmed) > 0 {
		words = append(words, fmt.Sprintf("%d fail for another reason", len(r.Unconfirmed)))
	}
	return strings.Join(append(words, fmt.Sprintf("%.0f s of processor time, %.0f s on the clock", r.Seconds, r.Wall)), "; ")
}

func ordinal(n int) string {
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// judge says what is wrong with the trials of a mutant; nothing if all is as it is
// expected to be.
func judge(m mutant.Mutant, trials []result) string {
	found, seeds := 0, 0
	for _, r := range trials {
		seeds += r.Seeds
		if r.Found > 0 {
			found++
		}
	}
	switch {
	case len(trials) == 0:
		return m.Name + " was not hunted"
	case m.Equivalent != "" && found > 0:
		return fmt.Sprintf("%s is no bug, and %d of %d trials found one", m.Name, found, len(trials))
	case m.Equivalent == "" && m.Unseen == "" && found == 0:
		return fmt.Sprintf("%s was not found in %d seeds", m.Name, seeds)
	}
	return ""
}
