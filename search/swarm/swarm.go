package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/parallel"
	"github.com/watchsim/watchsim/sim/fork"
)

// Limits bound the workers.
type Limits struct {
	// Workers is how many there are at one time.
	Workers int
	// Run bounds each run.
	Run fork.Limits
}

// DefaultLimits returns limits that use all cores.
func DefaultLimits() Limits { return Limits{Workers: runtime.NumCPU(), Run: fork.DefaultLimits} }

// WithWorkers returns the limits with that many workers.
func (l Limits) WithWorkers(workers int) Limits {
	l.Workers = workers
	return l
}

// String lists the limits for a banner.
func (l Limits) String() string { return fmt.Sprintf("%d; %s", l.Workers, l.Run) }

// Config says what to run.
type Config struct {
	// Binary is this program; workers are started from it.
	Binary string
	// Spec is run for every seed from First to Last.
	Spec        scenario.Spec
	First, Last uint64
	// Skip says which of these Run skips; nil for none.
	Skip func(seed uint64) bool
	// Out is the folder under which failing runs leave their artifacts; KeepAll
	// makes all runs do so.
	Out     string
	KeepAll bool
	// Resumes says that the contents of Out are from the same range and binary, so that a repeated
	// run writes to the folder that it wrote to before. Otherwise every run gets a new folder.
	Resumes bool
	// InPlace runs each run in a worker of its own instead of in a copy of one.
	InPlace bool
	// Verbose asks for reports with everything that is known of a run.
	Verbose bool
	Limits  Limits
}

// Outcome is one seed's verdict.
type Outcome struct {
	Verdict scenario.Verdict
	Report  string
	// Notes say what failed and was retried, a sentence each.
	Notes []string
	// Err is any other problem: no verdict, no artifacts, a seed that was two different runs, which
	// is ErrNotDeterministic, or one whose process the machine ended each time, which is ErrOutside
	// and has no verdict. A run that ended its own process is not a problem but a failure of the
	// seed.
	Err error
}

// Run runs all seeds and calls each with the outcomes, in no particular order
// and one at a time, until ctx is done or each returns an error. It returns the first
// such error; seeds in progress are interrupted then, and each gets what they still yield.
func Run(ctx context.Context, config Config, each func(Outcome) error) (problem error) {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	pool := NewPool(config.Binary, config.Limits)
	defer pool.Close()
	next, stop := iter.Pull(config.seeds())
	defer stop()
	// The error is ctx's, which the caller knows.
	_ = parallel.Run(ctx, config.Limits.Workers, next,
		func(ctx context.Context, seed uint64) (Outcome, error) { return config.run(ctx, pool, seed) },
		func(_ uint64, outcome Outcome) error {
			if err := each(outcome); err != nil {
				problem = cmp.Or(problem, err)
				abandon()
			}
			return nil
		})
	return problem
}

// seeds returns the seeds that are not skipped.
func (c Config) seeds() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for seed := c.First; ; seed++ {
			skip := c.Skip != nil && c.Skip(seed)
			if !skip && !yield(seed) || seed == c.Last {
				return
			}
		}
	}
}

// run runs one seed. The error is ctx's, if ctx was done before there was an outcome.
func (c Config) run(ctx context.Context, pool *Pool, seed uint64) (Outcome, error) {
	spec := c.Spec.WithSeed(seed)
	job := Job{Spec: spec, InPlace: c.InPlace, Verbose: c.Verbose}
	if c.KeepAll {
		var err error
		if job.Folder, err = c.folder(spec); err != nil {
			return Outcome{Err: err}, nil
		}
	}
	answer, err := pool.Do(ctx, job)
	outcome := Outcome{Verdict: answer.Verdict, Report: answer.Report}
	switch {
	case err != nil && ctx.Err() != nil:
		return Outcome{}, ctx.Err()
	case err != nil && !errors.Is(err, ErrDied):
		outcome = Outcome{Err: err}
		_ = os.Remove(job.Folder) // if nothing was written
	case err != nil || answer.Verdict.Outcome == linearizability.Failed && job.Folder == "":
		outcome = c.confirm(ctx, job, answer, err)
	}
	outcome.Notes = append(answer.Notes, outcome.Notes...)
	return outcome, nil
}

// confirm repeats a failure in a fresh worker, which first writes the artifacts. Whatever happens
// then, the failure itself is not lost.
func (c Config) confirm(ctx context.Context, job Job, first Answer, died error) Outcome {
	spec := job.Spec
	known := Outcome{Verdict: first.Verdict, Report: first.Report}
	if died != nil {
		known = Outcome{Verdict: Dead(spec, died), Report: died.Error()}
	}
	if job.Folder == "" {
		if job.Folder, known.Err = c.folder(spec); known.Err != nil {
			return known
		}
	}
	second, err := Once(ctx, c.Binary, job, c.Limits)
	known.Notes = second.Notes
	switch {
	case err == nil:
		return confirmed(spec, first, died, second)
	case ctx.Err() != nil:
	case errors.Is(err, ErrOutside) && died != nil:
		return Outcome{Err: err, Notes: second.Notes} // whether the run ended its process is not known
	case errors.Is(err, ErrDied):
		known.Verdict, known.Report = Dead(spec, err), err.Error()
		known.Verdict.Folder = job.Folder
		known.Err = known.Verdict.WriteVerdict(job.Folder, known.Report)
	default:
		known.Err = err
	}
	return known
}

// confirmed compares a failure with its repetition.
func confirmed(spec scenario.Spec, first Answer, died error, second Answer) Outcome {
	outcome := Outcome{Verdict: second.Verdict, Report: second.Report, Notes: second.Notes}
	switch {
	case errors.Is(died, errLate): // the machine was busy
	case died != nil:
		outcome.Err = fmt.Errorf("%w: seed %d ended its process, but not in a fresh one: %w", ErrNotDeterministic, spec.Seed, died)
	case second.Verdict.Hash != first.Verdict.Hash:
		outcome.Err = fmt.Errorf("%w: seed %d: expected the hash %s of the first run, found %s in a fresh process",
			ErrNotDeterministic, spec.Seed, first.Verdict.Hash, second.Verdict.Hash)
	}
	return outcome
}

// Dead is the verdict on a run that ended its process.
func Dead(spec scenario.Spec, err error) scenario.Verdict {
	return scenario.Verdict{
		Seed: spec.Seed, Scenario: spec.Scenario, Target: spec.Target, Mutant: spec.Mutant, Use: spec.Use,
		Outcome: linearizability.Failed, Faults: map[string]int{},
		Violations: []scenario.Violation{unfinished(err)},
	}
}

// folder creates the folder for the artifacts of a run.
func (c Config) folder(spec scenario.Spec) (string, error) {
	path := filepath.Join(c.Out, spec.Name())
	if !c.Resumes {
		return scenario.NewFolder(path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(path, 0o755)
}
