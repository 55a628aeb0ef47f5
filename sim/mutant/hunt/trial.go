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

// trial runs seeds until one of them shows the bug.
func (h *hunter) trial(ctx context.Context, m mutant.Mutant, number, seeds int) (result, error) {
	first := uint64(number-1)*trialSeeds + 1
	r := result{Mutant: m.Name, Key: keyOf(m), Trial: number, Hunt: strings.Join(m.Hunt, " "), First: first, Budget: seeds}
	limited, cancel := context.WithTimeout(ctx, h.options.time)
	defer cancel()
	began := time.Now()
	var unconfirmed error
	seedRange := fmt.Sprintf("%d-%d", first, first+uint64(seeds)-1)
	used, err := runSeeds(limited, h.binary, m.Name, arguments(m, "--seeds", seedRange), func(v verdict) bool {
		r.Seeds++
		switch v.Outcome {
		case passed:
			return true
		case failed:
		default:
			r.Inconclusive++
			return true
		}
		var passes bool
		if passes, unconfirmed = h.passesWithout(limited, m, v.Seed); unconfirmed != nil {
			return false
		}
		if !passes {
			r.Unconfirmed = append(r.Unconfirmed, v.Seed)
			return true
		}
		r.Found, r.Guarantees, r.Witness = v.Seed, v.guarantees(), v.witness()
		return false
	})
	if err == nil {
		err = unconfirmed
	}
	r.Seconds, r.Wall = used.Seconds(), time.Since(began).Seconds()
	if r.Found == 0 && r.Seeds < seeds {
		r.Budget = r.Seeds // the time ran out first
	}
	if err != nil && limited.Err() == nil {
		return r, fmt.Errorf("hunting %s: %w", m.Name, err)
	}
	return r, nil
}

// passesWithout runs a seed that failed without the bug. Released code has bugs of
// its own, and a failure that needs no edit is none of the edit's.
func (h *hunter) passesWithout(ctx context.Context, m mutant.Mutant, seed uint64) (bool, error) {
	passes := false
	_, err := runSeeds(ctx, h.binary, "", arguments(m, "--seed", fmt.Sprint(seed)), func(v verdict) bool {
		passes = v.Outcome == passed
		return true
	})
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
		words = append(words, fmt.Sprintf("%d fail without the edit too", len(r.Unconfirmed)))
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
