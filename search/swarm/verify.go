package swarm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/search/parallel"
	"github.com/watchsim/watchsim/sim"
)

// ErrNotDeterministic means that one seed was two different runs.
var ErrNotDeterministic = errors.New("one seed was two different runs")

// Verify runs each seed twice, in two workers that have different pasts: one
// runs the seeds in order, the other backwards. The error names the first
// decision in which a seed's two runs differ, and what each did then.
//
// Everything that happens in the runs is written down: a difference may not show
// again when they are repeated.
func Verify(ctx context.Context, config Config) error {
	var found []error
	for some := range slices.Chunk(slices.Collect(config.seeds()), openMax) {
		differences, err := thereAndBack(ctx, config, some)
		if err != nil {
			return err
		}
		found = append(found, differences...)
	}
	return errors.Join(found...)
}

// openMax is how many seeds are run forwards before they are run backwards: a system
// lets a process have a few thousand files open, and each run has one.
const openMax = 500

func thereAndBack(ctx context.Context, config Config, seeds []uint64) (differences []error, err error) {
	forwards, err := inOrder(ctx, config, seeds)
	defer closeAll(forwards)
	if err != nil {
		return nil, err
	}
	slices.Reverse(seeds)
	backwards, err := inOrder(ctx, config, seeds)
	defer closeAll(backwards)
	if err != nil {
		return nil, err
	}
	slices.Reverse(backwards)
	for i, one := range forwards {
		if other := backwards[i]; one.hash != other.hash {
			differences = append(differences, explain(one, other))
		}
	}
	return differences, nil
}

// maxCrowd is how many processes run at the same time.
const maxCrowd = 16

// Repeat runs one seed in so many fresh processes, every other one in place and the rest
// in copies, half of them one after the other and half of them concurrently. The
// error names the first decision in which two of them differ, and what each did then.
func Repeat(ctx context.Context, config Config, seed uint64, processes int) error {
	once := func(ctx context.Context, i int) ([]record, error) {
		config := config
		config.InPlace = i%2 == 0
		return inOrder(ctx, config, []uint64{seed})
	}
	first, err := once(ctx, 0)
	defer closeAll(first)
	if err != nil {
		return err
	}
	compare := func(ctx context.Context, i int) error {
		runs, err := once(ctx, i)
		defer closeAll(runs)
		if err == nil && runs[0].hash != first[0].hash {
			err = explain(first[0], runs[0])
		}
		return err
	}
	var others []int
	for i := 1; i < processes; i++ {
		others = append(others, i)
	}
	alone := max(0, processes/2-1) // beside the first
	if err := parallel.Each(ctx, 1, others[:alone], compare); err != nil {
		return err
	}
	return parallel.Each(ctx, maxCrowd, others[alone:], compare)
}

// record is the hash of one run and its trace, in an unnamed file that is gone however this
// process ends.
type record struct {
	seed  uint64
	hash  string
	trace *os.File
}

func closeAll(records []record) {
	for _, r := range records {
		r.trace.Close()
	}
}

// path returns where other processes find the trace while this one lives.
func (r record) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), r.trace.Fd()) }

// inOrder runs seeds one after the other in one worker, and keeps their traces. The caller
// closes the records, also after an error.
func inOrder(ctx context.Context, config Config, seeds []uint64) (records []record, err error) {
	pool := NewPool(config.Binary, config.Limits.WithWorkers(1))
	defer pool.Close()
	for _, seed := range seeds {
		kept := record{seed: seed}
		if kept.trace, err = os.CreateTemp("", "watchsim-trace-"); err != nil {
			return records, err
		}
		records = append(records, kept)
		if err = os.Remove(kept.trace.Name()); err != nil {
			return records, err
		}
		answer, err := pool.Do(ctx, Job{Spec: config.Spec.WithSeed(seed), InPlace: config.InPlace, Trace: kept.path()})
		if err != nil {
			return records, err
		}
		records[len(records)-1].hash = answer.Verdict.Hash
	}
	return records, nil
}

// explain describes the first divergence of two runs of a seed.
func explain(one, other record) error {
	a, err := openTrace(one.path())
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := openTrace(other.path())
	if err != nil {
		return err
	}
	defer b.Close()
	found, differ, err := sim.FirstDifference(a, b)
	switch {
	case err != nil:
		return err
	case !differ:
		return fmt.Errorf("%w: seed %d, but their traces are the same as far as they go", ErrNotDeterministic, one.seed)
	}
	return fmt.Errorf("%w: seed %d, first at decision %d\n%s\n--- then, in the one:\n%s\n--- then, in the other:\n%s",
		ErrNotDeterministic, one.seed, found.Decision,
		strings.Join(found.Before, "\n"), strings.Join(found.A, "\n"), strings.Join(found.B, "\n"))
}
