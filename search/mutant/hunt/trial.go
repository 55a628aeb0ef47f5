package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/mutant"
)

// trialSeeds is the distance between the first seeds of two trials, so that no two trials share a
// seed.
const trialSeeds = 1_000_000

// hunter makes trials. It may hunt several mutants concurrently.
type hunter struct {
	options options
	run     runner
	spec    func(ctx context.Context, m mutant.Mutant) (scenario.Spec, error)
	probes  mutant.Probes
	by      strategy // the zero value is simrun's own

	mu      sync.Mutex // guards what follows
	results *results
	stdout  io.Writer
}

// mutant makes the missing trials of a mutant.
func (h *hunter) mutant(ctx context.Context, m mutant.Mutant) error {
	trials, seeds := h.options.trials, h.options.seeds
	if h.options.short {
		trials, seeds = 1, m.Budget
	}
	done := h.trials(m)
	for trial := 1; trial <= trials; trial++ {
		if slices.ContainsFunc(done, func(r result) bool {
			return r.Trial == trial && (r.Found > 0 || r.Budget >= seeds || r.Seconds >= h.options.time.Seconds())
		}) {
			continue
		}
		r, err := h.trial(ctx, m, trial, seeds)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = h.note(m, r)
		}
		if err != nil {
			return err
		}
		if r.Found == 0 && m.Equivalent == "" {
			break // a bug that is hard to find takes the whole budget each time
		}
	}
	return nil
}

// trials returns the existing trials.
func (h *hunter) trials(m mutant.Mutant) []result {
	h.mu.Lock()
	defer h.mu.Unlock()
	return trialsBy(h.results.all, m, h.by.name)
}

// note keeps a result and prints it.
func (h *hunter) note(m mutant.Mutant, r result) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	by := h.by.name
	if by != "" {
		by += ", "
	}
	fmt.Fprintf(h.stdout, "%-24s %strial %2d: %s\n", m.Name, by, r.Trial, r.text())
	return h.results.add(r)
}

// trial runs seeds until one shows the bug.
func (h *hunter) trial(ctx context.Context, m mutant.Mutant, number, seeds int) (r result, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("hunting %s: %w", m.Name, err)
		}
	}()
	r = result{Mutant: m.Name, Key: keyOf(m), Trial: number, Strategy: h.by.name, Hunt: strings.Join(m.Hunt, " "), First: uint64(number-1)*trialSeeds + 1}
	spec, err := h.spec(ctx, m)
	if err != nil {
		return r, err
	}
	began := time.Now()
	spec = spec.WithSeed(r.First)
	steps, used, err := h.by.measure(ctx, h.run, spec)
	if err != nil {
		return r, err
	}
	var hashes []string
	for r.Found == 0 && r.Seeds < seeds && used < h.options.time {
		spec = spec.WithSeed(r.First + uint64(r.Seeds))
		hash, spent, err := h.seed(ctx, m, h.by.steer(spec, steps), &r)
		if err != nil {
			return r, err
		}
		used, hashes = used+spent, append(hashes, hash)
	}
	r.Seconds, r.Wall, r.Budget = used.Seconds(), time.Since(began).Seconds(), seeds
	if r.Found == 0 {
		r.Budget = r.Seeds // fewer if time ran out first
		r.NoEffect, err = h.noEffect(ctx, spec.WithSeed(r.First), steps, hashes)
	}
	return r, err
}

// noEffect reports whether the runs of these seeds, from that of the spec on, have the same hashes
// as without the edit. Nearly every edit shows in the first one.
func (h *hunter) noEffect(ctx context.Context, spec scenario.Spec, steps uint64, hashes []string) (bool, error) {
	for _, with := range hashes {
		without, _, err := h.run(ctx, "", h.by.steer(spec, steps))
		if err != nil || with == "" || with != without.Hash {
			return false, err
		}
		spec = spec.WithSeed(spec.Seed + 1)
	}
	return len(hashes) > 0, nil
}

// seed runs one seed of a trial and notes its result. It returns the hash of the run and the
// processor time.
func (h *hunter) seed(ctx context.Context, m mutant.Mutant, spec scenario.Spec, r *result) (hash string, used time.Duration, err error) {
	v, used, err := h.run(ctx, m.Name, spec)
	if err != nil {
		return "", used, err
	}
	r.Seeds++
	switch {
	case v.Outcome == linearizability.Passed:
		return v.Hash, used, nil
	case v.tooSlow() || v.Outcome != linearizability.Failed && !v.neverEnds():
		r.Inconclusive++
		r.Undecided = append(r.Undecided, undecided{spec.Seed, v.witness()})
		return v.Hash, used, nil
	case !canBreak(m, v):
		r.Unconfirmed = append(r.Unconfirmed, spec.Seed)
		return v.Hash, used, nil
	}
	passes, spent, err := h.passesWithout(ctx, spec)
	used += spent
	switch {
	case err != nil:
		return v.Hash, used, err
	case !passes:
		r.Unconfirmed = append(r.Unconfirmed, spec.Seed)
	default:
		r.Found, r.Guarantees = spec.Seed, v.guarantees()
		if r.Trial == 1 {
			r.Witness = v.witness()
		}
	}
	return v.Hash, used, nil
}

// canBreak reports whether the mutant can cause a failure.
func canBreak(m mutant.Mutant, v verdict) bool {
	return len(m.Breaks) == 0 || !slices.ContainsFunc(v.guarantees(), func(name string) bool { return !slices.Contains(m.Breaks, name) })
}

// maxSlow is how often a run is tried whose real time ran out.
const maxSlow = 3

// passesWithout runs a seed that failed again without the bug. Released code has bugs of its own,
// and a failure without the edit is not the edit's.
func (h *hunter) passesWithout(ctx context.Context, spec scenario.Spec) (passes bool, used time.Duration, err error) {
	for range maxSlow {
		v, spent, err := h.run(ctx, "", spec)
		used += spent
		if err != nil || !v.tooSlow() {
			return v.Outcome == linearizability.Passed, used, err
		}
	}
	return false, used, nil
}

// text describes a trial's result.
func (r result) text() string {
	var words []string
	switch {
	case r.Found == 0:
		words = append(words, fmt.Sprintf("nothing in %d seeds", r.Seeds))
	case len(r.Guarantees) == 0:
		words = append(words, fmt.Sprintf("seed %d, the %s: %s", r.Found, humanize.Ordinal(r.Seeds), r.Witness))
	default:
		words = append(words, fmt.Sprintf("seed %d, the %s, breaks %s", r.Found, humanize.Ordinal(r.Seeds), strings.Join(r.Guarantees, ", ")))
	}
	if r.Together > 1 {
		words = append(words, fmt.Sprintf("together with %d others", r.Together-1))
	}
	if r.NoEffect {
		words = append(words, noEffect)
	}
	if r.Inconclusive > 0 {
		words = append(words, fmt.Sprintf("%d inconclusive%s", r.Inconclusive, undecidedText(r.Undecided)))
	}
	if len(r.Unconfirmed) > 0 {
		words = append(words, fmt.Sprintf("%d fail for another reason", len(r.Unconfirmed)))
	}
	return strings.Join(append(words, fmt.Sprintf("%.0f s of processor time, %.0f s on the clock", r.Seconds, r.Wall)), "; ")
}

// noEffect is the message for an edit that no run of a trial noticed.
const noEffect = "the edit never took effect: every run has the hash of its seed without it"

// maxNamed is how many seeds are named that are inconclusive for the same reason.
const maxNamed = 5

// undecidedText names inconclusive seeds by reason.
func undecidedText(all []undecided) string {
	var reasons []string
	seeds := map[string][]string{}
	for _, u := range all {
		if seeds[u.Reason] == nil {
			reasons = append(reasons, u.Reason)
		}
		seeds[u.Reason] = append(seeds[u.Reason], fmt.Sprint(u.Seed))
	}
	var b strings.Builder
	for _, reason := range reasons {
		named, more := seeds[reason], ""
		if len(named) > maxNamed {
			named, more = named[:maxNamed], fmt.Sprintf(" and %d more", len(named)-maxNamed)
		}
		fmt.Fprintf(&b, ", %s%s: %s", strings.Join(named, " "), more, reason)
	}
	return b.String()
}

// withoutEffect reports whether no run of these trials noticed the edit.
func withoutEffect(trials []result) bool {
	return !slices.ContainsFunc(trials, func(r result) bool { return !r.NoEffect })
}

// judge says what is wrong with the trials of a mutant; it is empty if they are as expected.
func judge(m mutant.Mutant, trials []result) string {
	found, _, seeds := detections(trials)
	switch {
	case len(trials) == 0:
		return m.Name + " was not hunted"
	case m.Equivalent != "" && len(found) > 0:
		return fmt.Sprintf("%s is no bug, and %d of %d trials found one", m.Name, len(found), len(trials))
	case m.Equivalent == "" && m.Unseen == "" && withoutEffect(trials):
		return fmt.Sprintf("%s never took effect in %d seeds", m.Name, seeds)
	case m.Equivalent == "" && m.Unseen == "" && len(found) == 0:
		return fmt.Sprintf("%s was not found in %d seeds", m.Name, seeds)
	}
	return ""
}
