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
	// plain is simrun without a bug, built when first needed.
	plain string
}

// mutant makes the trials of one mutant that are missing.
func (h *hunter) mutant(ctx context.Context, m mutant.Mutant) error {
	trials, seeds := h.options.trials, h.options.seeds
	if h.options.short {
		trials, seeds = 1, m.Budget
	}
	done := h.results.trials(m)
	binary := ""
	for trial := 1; trial <= trials; trial++ {
		if slices.ContainsFunc(done, func(r result) bool { return r.Trial == trial && (r.Found > 0 || r.Budget >= seeds) }) {
			continue
		}
		if binary == "" {
			began := time.Now()
			var err error
			if binary, err = h.build(m); err != nil {
				return err
			}
			fmt.Fprintf(h.stdout, "%-24s built in %.0f s\n", m.Name, time.Since(began).Seconds())
		}
		r, err := h.trial(ctx, m, binary, trial, seeds)
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

// build builds simrun with a mutant, and without one for comparison.
func (h *hunter) build(m mutant.Mutant) (string, error) {
	if h.plain == "" {
		plain, err := selfbuild.Build()
		if err != nil {
			return "", err
		}
		h.plain = plain
	}
	return selfbuild.Build(m)
}

// trial runs seeds until one of them shows the bug.
func (h *hunter) trial(ctx context.Context, m mutant.Mutant, binary string, number, seeds int) (result, error) {
	first := uint64(number-1)*trialSeeds + 1
	r := result{Mutant: m.Name, Key: keyOf(m), Trial: number, Hunt: strings.Join(m.Hunt, " "), First: first, Budget: seeds}
	limited, cancel := context.WithTimeout(ctx, h.options.time)
	defer cancel()
	began := time.Now()
	var unconfirmed error
	arguments := append(slices.Clone(m.Hunt), "--mutant", m.Name, "--seeds", fmt.Sprintf("%d-%d", first, first+uint64(seeds)-1))
	used, err := runSeeds(limited, binary, arguments, func(v verdict) bool {
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
	arguments := append(slices.Clone(m.Hunt), "--seed", fmt.Sprint(seed))
	if m.Target != "" {
		arguments = append(arguments, "--target", m.Target)
	}
	passes := false
	_, err := runSeeds(ctx, h.plain, arguments, func(v verdict) bool {
		passes = v.Outcome == passed
		return true
	})
	return passes, err
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
