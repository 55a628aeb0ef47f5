package swarm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

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
	return inFolder(func(dir string) error {
		var seeds []uint64
		for seed := config.First; seed != config.Last; seed++ {
			seeds = append(seeds, seed)
		}
		seeds = append(seeds, config.Last)
		forwards, err := inOrder(ctx, config, seeds, filepath.Join(dir, "forwards"))
		if err != nil {
			return err
		}
		slices.Reverse(seeds)
		backwards, err := inOrder(ctx, config, seeds, filepath.Join(dir, "backwards"))
		if err != nil {
			return err
		}
		var found []error
		for i := range seeds {
			one, other := forwards[len(seeds)-1-i], backwards[i]
			if one.hash == other.hash {
				continue
			}
			found = append(found, explain(one, other))
		}
		return errors.Join(found...)
	})
}

// crowdMax is how many processes are in each other's way.
const crowdMax = 16

// Repeat runs one seed in so many fresh processes, every other one in place and the rest
// in copies, half of them one after the other and half of them in each other's way. The
// error names the first decision in which two of them differ, and what each did then.
func Repeat(ctx context.Context, config Config, seed uint64, processes int) error {
	return inFolder(func(dir string) error {
		var first record
		once := func(i int) error {
			config := config
			config.InPlace = i%2 == 0
			runs, err := inOrder(ctx, config, []uint64{seed}, filepath.Join(dir, fmt.Sprint(i)))
			switch {
			case err != nil:
				return err
			case i == 0:
				first = runs[0]
				return nil
			case runs[0].hash != first.hash:
				return explain(first, runs[0])
			}
			return os.Remove(runs[0].trace) // a thousand of them fill a disk
		}
		for i := range processes / 2 {
			if err := once(i); err != nil {
				return err
			}
		}
		var crowd errgroup.Group
		crowd.SetLimit(crowdMax)
		for i := processes / 2; i < processes; i++ {
			crowd.Go(func() error { return once(i) })
		}
		return crowd.Wait()
	})
}

// inFolder calls f with a folder that is there until f returns.
func inFolder(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "watchsim-verify-")
	if err != nil {
		return err
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}

// record is what is kept of one run: its hash, and the file with its trace.
type record struct {
	seed        uint64
	hash, trace string
}

// inOrder runs seeds one after the other in one worker, and keeps their traces
// in files whose names begin with the prefix.
func inOrder(ctx context.Context, config Config, seeds []uint64, prefix string) ([]record, error) {
	s := &seat{config: config}
	defer s.close()
	var records []record
	for _, seed := range seeds {
		job := Job{Spec: config.Spec, InPlace: config.InPlace, Trace: fmt.Sprintf("%s-%d.trace.gz", prefix, seed)}
		job.Spec.Seed = seed
		answer, err := s.do(ctx, job)
		if err == nil && answer.Error != "" {
			err = errors.New(answer.Error)
		}
		if err != nil {
			return nil, err
		}
		records = append(records, record{seed, answer.Verdict.Hash, job.Trace})
	}
	return records, nil
}

// explain says where the two runs of a seed part.
func explain(one, other record) error {
	a, err := openTrace(one.trace)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := openTrace(other.trace)
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
