package shrink

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/search/parallel"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
)

// Outcome is the result of a candidate.
type Outcome struct {
	// Broken reports whether the required guarantee is broken.
	Broken bool
	// Operations is how many requests there were, Seconds the simulated time.
	Operations int
	Seconds    float64
	// Led is what led to the violation, if known.
	Led []explain.Moment
	// Details are set if they were requested.
	Details *swarm.Details
}

// Try runs candidates that differ only in their tapes, or a single one, and returns the outcome of
// each. Details are those of a single one. It may be called concurrently.
type Try func(ctx context.Context, candidates []Case, details bool) ([]Outcome, error)

// Runner returns a function that runs candidates in a pool of workers. What candidates have in
// common is run once: the last of them is a run of its own, and the others are copies of it that
// continue with their own tapes from where these diverge. environment is that of the workers, as in
// [swarm.Job].
func Runner(pool *swarm.Pool, guarantee, environment string) Try {
	return func(ctx context.Context, candidates []Case, details bool) ([]Outcome, error) {
		last := len(candidates) - 1
		job := swarm.Job{Spec: candidates[last].Spec, Tape: candidates[last].Tape, Details: details, Environment: environment}
		order := make([]divergence, last)
		for i := range order {
			order[i] = divergence{i, divergesAt(candidates[i].Tape, job.Tape)}
		}
		slices.SortStableFunc(order, func(a, b divergence) int { return cmp.Compare(a.at, b.at) })
		for _, d := range order {
			way := swarm.Way{Tape: open(candidates[d.candidate].Tape)}
			job.Forks = append(job.Forks, swarm.Fork{At: sim.Mark{Decision: d.at}, Ways: []swarm.Way{way}})
		}
		if last > 0 {
			job.Tape = open(job.Tape)
		}
		answer, err := pool.Do(ctx, job)
		if err != nil && (last == 0 || ctx.Err() != nil || !errors.Is(err, swarm.ErrDied)) {
			return nil, err
		}
		outcomes := make([]Outcome, len(candidates))
		outcomes[last] = outcomeOf(answer, guarantee)
		for i, replies := range answer.Forks {
			// A copy that died breaks nothing.
			if copied, err := replies[0].Read(job.Spec.Seed); err == nil {
				outcomes[order[i].candidate] = outcomeOf(copied, guarantee)
			}
		}
		return outcomes, nil
	}
}

// divergence is the number of decisions after which a candidate diverges from another.
type divergence struct {
	candidate int
	at        uint64
}

// early is how many decisions before its divergence a copy is made: a decision may be followed by
// others before the run can pause, such as a stall by its length.
const early = 8

// divergesAt returns after how many decisions a run by one tape must pause so that it can continue
// with the other.
func divergesAt(a, b []byte) (at uint64) {
	a, b = sim.Trimmed(a), sim.Trimmed(b)
	for len(a)+len(b) > 0 {
		restA, restB := sim.Remaining(a, 1), sim.Remaining(b, 1)
		if !bytes.Equal(open(a[:len(a)-len(restA)]), open(b[:len(b)-len(restB)])) {
			return max(at, early) - early
		}
		a, b, at = restA, restB, at+1
	}
	return 0
}

// open returns a tape that is not empty: default decisions follow its end.
func open(tape []byte) []byte {
	if len(tape) == 0 {
		return []byte{0}
	}
	return tape
}

// together is how many candidates share a run at most: those after the first broken one run in
// vain.
const together = 8

// sharing groups consecutive candidates that differ only in their tapes. Groups hold indices.
func sharing(candidates []Case) (groups [][]int) {
	for i, c := range candidates {
		if n := len(groups) - 1; n >= 0 && len(groups[n]) < together {
			before := candidates[groups[n][0]]
			if c.Spec.ScheduleSeed == 0 && !bytes.Equal(c.Tape, before.Tape) && reflect.DeepEqual(c.Spec, before.Spec) {
				groups[n] = append(groups[n], i)
				continue
			}
		}
		groups = append(groups, []int{i})
	}
	return groups
}

func outcomeOf(answer swarm.Answer, guarantee string) Outcome {
	o := Outcome{
		Broken:     Breaks(answer.Verdict, guarantee),
		Operations: answer.Verdict.Operations,
		Seconds:    answer.Verdict.SimulatedSeconds,
		Details:    answer.Details,
	}
	for _, violation := range answer.Verdict.Violations {
		if violation.Guarantee == guarantee && o.Led == nil {
			o.Led = violation.Slice
		}
	}
	return o
}

// Breaks reports whether a verdict says that the guarantee is broken, and that the run itself had
// no problem.
func Breaks(verdict scenario.Verdict, guarantee string) bool {
	return verdict.Outcome == linearizability.Failed && slices.Contains(verdict.Broken(), guarantee)
}

// firstOf tries candidates on several workers and returns the index of the first, in order, that
// holds, or -1. It starts none after one that holds, and waits for those before it: the result does
// not depend on the number of workers.
func firstOf(workers, count int, holds func(index int) bool) int {
	var found atomic.Int64
	found.Store(int64(count))
	index := -1
	// The work has no errors, and nothing interrupts it.
	_ = parallel.Run(context.Background(), min(workers, count),
		func() (int, bool) { index++; return index, int64(index) < found.Load() },
		func(_ context.Context, index int) (bool, error) {
			return int64(index) < found.Load() && holds(index), nil
		},
		func(index int, held bool) error {
			if held {
				found.Store(min(found.Load(), int64(index)))
			}
			return nil
		})
	if found.Load() == int64(count) {
		return -1
	}
	return int(found.Load())
}
