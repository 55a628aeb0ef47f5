package swarm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/scenario"
)

// hashesLogged is how many decisions are compared one by one. Runs that part
// later than that are known to differ, but not where.
const hashesLogged = 4 << 20

// ErrNotDeterministic means that one seed was two different runs.
var ErrNotDeterministic = errors.New("one seed was two different runs")

// Verify runs each seed twice, in two workers that have different pasts: one
// runs the seeds in order, the other backwards. The error names the first
// decision in which a seed's two runs differ, and where each run was.
func Verify(ctx context.Context, config Config) error {
	var seeds []uint64
	for seed := config.First; ; seed++ {
		seeds = append(seeds, seed)
		if seed == config.Last {
			break
		}
	}
	forwards, err := hashes(ctx, config, seeds)
	if err != nil {
		return err
	}
	backwards, err := hashes(ctx, config, reversed(seeds))
	if err != nil {
		return err
	}
	for i, seed := range seeds {
		if forwards[seed] == backwards[seed] {
			continue
		}
		return explain(ctx, config, seeds[:i+1], reversed(seeds[i:]))
	}
	return nil
}

// Repeat runs one seed in so many fresh processes, half of them one after the
// other and half of them all at once, in each other's way. The error names the
// first decision in which two of them differ, and where each was.
func Repeat(ctx context.Context, config Config, seed uint64, processes int) error {
	spec := config.Spec
	spec.Seed = seed
	answers := make([]Answer, processes)
	errs := make([]error, processes)
	once := func(i int) {
		answers[i], errs[i] = Once(ctx, config.Binary, Job{Spec: spec}, config.Limits)
		if errs[i] == nil && answers[i].Error != "" {
			errs[i] = errors.New(answers[i].Error)
		}
	}
	var crowd sync.WaitGroup
	for i := range processes {
		if i < processes/2 {
			once(i)
			continue
		}
		crowd.Go(func() { once(i) })
	}
	crowd.Wait()
	for i, answer := range answers {
		if errs[i] != nil {
			return errs[i]
		}
		if answer.Verdict.Hash != answers[0].Verdict.Hash {
			return explain(ctx, config, []uint64{seed}, []uint64{seed})
		}
	}
	return nil
}

func reversed(seeds []uint64) []uint64 {
	out := make([]uint64, len(seeds))
	for i, seed := range seeds {
		out[len(seeds)-1-i] = seed
	}
	return out
}

// hashes runs seeds in that order in one worker.
func hashes(ctx context.Context, config Config, seeds []uint64) (map[uint64]string, error) {
	found := map[uint64]string{}
	_, err := inOrder(ctx, config, seeds, func(spec scenario.Spec) Job { return Job{Spec: spec} },
		func(answer Answer) { found[answer.Verdict.Seed] = answer.Verdict.Hash })
	return found, err
}

// inOrder does the jobs of seeds one after the other in one worker, and returns
// the last answer.
func inOrder(ctx context.Context, config Config, seeds []uint64, job func(scenario.Spec) Job, each func(Answer)) (Answer, error) {
	worker, err := startProcess(config.Binary)
	if err != nil {
		return Answer{}, err
	}
	defer worker.close()
	defer context.AfterFunc(ctx, worker.kill)()
	var last Answer
	for _, seed := range seeds {
		spec := config.Spec
		spec.Seed = seed
		if last, err = worker.do(job(spec), config.Limits.Wall); err == nil && last.Error != "" {
			err = errors.New(last.Error)
		}
		if err != nil {
			return last, err
		}
		each(last)
	}
	return last, nil
}

// explain repeats two sequences of runs that end with the same seed, finds the
// first decision of that seed in which they differ, and says where both were.
func explain(ctx context.Context, config Config, one, other []uint64) error {
	seed := one[len(one)-1]
	last := func(sequence []uint64, breakAt uint64) (Answer, error) {
		return inOrder(ctx, config, sequence, func(spec scenario.Spec) Job {
			if spec.Seed != seed {
				return Job{Spec: spec}
			}
			return Job{Spec: spec, LogHashes: hashesLogged, BreakAt: breakAt, TraceLast: traceLast}
		}, func(Answer) {})
	}
	a, err := last(one, 0)
	if err != nil {
		return err
	}
	b, err := last(other, 0)
	if err != nil {
		return err
	}
	at := sim.FirstDifference(a.Hashes, b.Hashes)
	if at < 0 {
		return fmt.Errorf("%w: seed %d, at none of its first %d decisions, or not again when it was repeated", ErrNotDeterministic, seed, len(a.Hashes))
	}
	if a, err = last(one, uint64(at+1)); err != nil {
		return err
	}
	if b, err = last(other, uint64(at+1)); err != nil {
		return err
	}
	from := firstDifferentLine(a.Trace, b.Trace)
	return fmt.Errorf("%w: seed %d, first at decision %d\n--- after seeds %v:\n%s\n%s\n--- after seeds %v:\n%s\n%s",
		ErrNotDeterministic, seed, at+1,
		one[:len(one)-1], excerpt(a.Trace, from), different(a.Stacks, b.Stacks),
		other[:len(other)-1], excerpt(b.Trace, from), different(b.Stacks, a.Stacks))
}

// traceLast is how many decisions before the first difference are traced, and
// traceShown how many lines of that are shown before and after the first one
// that differs.
const (
	traceLast  = 50
	traceShown = 6
)

func firstDifferentLine(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// excerpt is what surrounds the first line that differs.
func excerpt(trace []string, at int) string {
	return strings.Join(trace[max(0, at-traceShown):min(len(trace), at+traceShown)], "\n")
}

// different keeps the goroutines of one listing that the other does not have.
func different(stacks, other string) string {
	known := map[string]bool{}
	for _, trace := range strings.Split(other, "\n\n") {
		known[withoutNumbers(trace)] = true
	}
	var kept []string
	for _, trace := range strings.Split(stacks, "\n\n") {
		if trace != "" && (strings.Contains(trace, ", ran last") || !known[withoutNumbers(trace)]) {
			kept = append(kept, trace)
		}
	}
	if len(kept) == 0 {
		return "(the same goroutines at the same places)"
	}
	return strings.Join(kept, "\n\n")
}

// withoutNumbers drops what differs between any two processes: addresses and
// goroutine numbers of the runtime.
func withoutNumbers(trace string) string {
	var b strings.Builder
	for _, line := range strings.Split(trace, "\n") {
		if at := strings.Index(line, "goroutine "); at >= 0 {
			line = line[:at] // the number, and how long it has waited
		}
		if at := strings.LastIndex(line, "("); at > 0 {
			line = line[:at]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
