package swarm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim/fork"
)

// Limits bound the workers.
type Limits struct {
	// Workers is how many there are at one time.
	Workers int
	// Run bounds each run.
	Run fork.Limits
}

// DefaultLimits use all cores.
func DefaultLimits() Limits { return Limits{Workers: runtime.NumCPU(), Run: fork.DefaultLimits} }

// String lists the limits for a banner.
func (l Limits) String() string { return fmt.Sprintf("%d; %s", l.Workers, l.Run) }

// Config says what to run.
type Config struct {
	// Binary is this program; workers are started from it.
	Binary string
	// Spec is run for every seed from First to Last.
	Spec        scenario.Spec
	First, Last uint64
	// Skip says which of these Run leaves out; nil for none.
	Skip func(seed uint64) bool
	// Out is the folder under which failing runs leave their artefacts; KeepAll
	// makes all runs do so.
	Out     string
	KeepAll bool
	// Resumes says that what lies below Out is of the same range and the same binary, so
	// that a run that is done again writes to the folder that it wrote to before. All
	// others get a folder of their own.
	Resumes bool
	// InPlace has each run be that of a worker of its own, instead of a copy of one.
	InPlace bool
	// Verbose asks for reports that say all that is known of a run.
	Verbose bool
	Limits  Limits
}

// Outcome is one seed's verdict.
type Outcome struct {
	Verdict scenario.Verdict
	Report  string
	// Notes say what went wrong on the way and was put right, a sentence each.
	Notes []string
	// Err is what went wrong besides: no verdict, no artefacts, a seed that was two
	// different runs, which is ErrNotDeterministic, or one whose process the machine
	// ended each time, which is ErrOutside and has no verdict. A run that ended its own
	// process is none of these but a failure of the seed.
	Err error
}

// Run runs all seeds and calls each with the outcomes, in no particular order
// and one at a time, until ctx is done.
func Run(ctx context.Context, config Config, each func(Outcome)) {
	seeds := make(chan uint64)
	outcomes := make(chan Outcome)
	var workers sync.WaitGroup
	for range config.Limits.Workers {
		workers.Go(func() {
			s := &seat{config: config}
			defer s.close()
			for seed := range seeds {
				outcome, ok := s.run(ctx, seed)
				if !ok {
					return
				}
				outcomes <- outcome
			}
		})
	}
	go func() {
		defer close(seeds)
		for seed := config.First; ; seed++ {
			if config.Skip == nil || !config.Skip(seed) {
				select {
				case seeds <- seed:
				case <-ctx.Done():
					return
				}
			}
			if seed == config.Last {
				return
			}
		}
	}()
	go func() {
		workers.Wait()
		close(outcomes)
	}()
	for outcome := range outcomes {
		each(outcome)
	}
}

// Once does one job in a fresh worker.
func Once(ctx context.Context, binary string, job Job, limits Limits) (Answer, error) {
	s := &seat{config: Config{Binary: binary, Limits: limits}}
	defer s.close()
	answer, err := s.do(ctx, job)
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer, err
}

// seat is where one worker sits after the other.
type seat struct {
	config      Config
	environment []string
	worker      *process
	notes       []string // about the job, a sentence each
}

// run runs one seed. It returns false if ctx ended first.
func (s *seat) run(ctx context.Context, seed uint64) (outcome Outcome, known bool) {
	s.notes = nil
	defer func() { outcome.Notes = s.notes }()
	spec := s.config.Spec
	spec.Seed = seed
	job := Job{Spec: spec, InPlace: s.config.InPlace, Verbose: s.config.Verbose}
	if s.config.KeepAll {
		folder, err := s.folder(spec)
		if err != nil {
			return Outcome{Err: err}, true
		}
		job.Folder = folder
	}
	answer, err := s.do(ctx, job)
	switch {
	case err != nil && ctx.Err() != nil:
		return Outcome{}, false
	case err == nil && answer.Error != "":
		err = errors.New(answer.Error)
		fallthrough
	case err != nil && !errors.Is(err, ErrDied):
		_ = os.Remove(job.Folder) // if nothing was written
		return Outcome{Err: err}, true
	case err == nil && (answer.Verdict.Outcome != linearizability.Failed || job.Folder != ""):
		return Outcome{Verdict: answer.Verdict, Report: answer.Report}, true
	}
	return s.confirm(ctx, job, answer, err)
}

// confirm repeats a failure in a fresh worker, which writes the artefacts
// first. Whatever becomes of that, the failure itself is not lost. It returns
// false if ctx ended before anything was known.
func (s *seat) confirm(ctx context.Context, job Job, first Answer, died error) (Outcome, bool) {
	spec := job.Spec
	known := Outcome{Verdict: first.Verdict, Report: first.Report}
	if died != nil {
		known = Outcome{Verdict: dead(spec, died), Report: died.Error()}
	}
	if job.Folder == "" {
		var err error
		if job.Folder, err = s.folder(spec); err != nil {
			known.Err = err
			return known, true
		}
	}
	fresh := &seat{config: s.config}
	defer fresh.close()
	second, err := fresh.do(ctx, job)
	s.notes = append(s.notes, fresh.notes...)
	if err == nil && second.Error != "" {
		err = errors.New(second.Error)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return known, true
	case errors.Is(err, ErrOutside) && died != nil:
		return Outcome{Err: err}, true // whether the run ended its process is not known
	case errors.Is(err, ErrDied):
		known = Outcome{Verdict: dead(spec, err), Report: err.Error()}
		known.Verdict.Folder = job.Folder
		known.Err = known.Verdict.WriteVerdict(job.Folder, known.Report)
		return known, true
	case err != nil:
		known.Err = err
		return known, true
	}
	return confirmed(spec, first, died, second), true
}

// confirmed compares a failure with its repetition.
func confirmed(spec scenario.Spec, first Answer, died error, second Answer) Outcome {
	switch {
	case errors.Is(died, errLate):
		return Outcome{Verdict: second.Verdict, Report: second.Report}
	case died != nil:
		return Outcome{Verdict: second.Verdict, Report: second.Report,
			Err: fmt.Errorf("%w: seed %d ended its process, but not in a fresh one: %w", ErrNotDeterministic, spec.Seed, died)}
	case second.Verdict.Hash != first.Verdict.Hash:
		return Outcome{Verdict: second.Verdict, Report: second.Report,
			Err: fmt.Errorf("%w: seed %d: expected the hash %s of the first run, found %s in a fresh process",
				ErrNotDeterministic, spec.Seed, first.Verdict.Hash, second.Verdict.Hash)}
	}
	return Outcome{Verdict: second.Verdict, Report: second.Report}
}

// dead is the verdict on a run that ended its process.
func dead(spec scenario.Spec, err error) scenario.Verdict {
	return scenario.Verdict{
		Seed: spec.Seed, Scenario: spec.Scenario, Target: spec.Target, Mutant: spec.Mutant,
		Outcome: linearizability.Failed, Faults: map[string]int{},
		Violations: []scenario.Violation{Unfinished(err)},
	}
}

// maxTries is how often a job is done whose process the machine ends.
const maxTries = 3

// do has a worker do a job. If the worker ends without the run being at fault, another
// one does it; that both end is a failure of the run, unless the machine ended them.
func (s *seat) do(ctx context.Context, job Job) (Answer, error) {
	job.InPlace = job.InPlace || job.Log != ""
	job.Limits = s.config.Limits.Run
	for try := 1; ; try++ {
		answer, err := s.try(ctx, job)
		if err == nil {
			err = answer.outside(job.Spec.Seed)
		}
		again := errors.Is(err, errWorker) && try == 1 || errors.Is(err, ErrOutside) && try < maxTries
		switch {
		case again && ctx.Err() == nil:
			s.notes = append(s.notes, fmt.Sprintf("%v; it is run again", err))
			continue
		case errors.Is(err, errWorker):
			err = fmt.Errorf("%w: %w", ErrDied, err)
		case errors.Is(err, ErrOutside):
			err = fmt.Errorf("%w (%d times, so that the seed has no verdict)", err, try)
		}
		return answer, err
	}
}

// outside is ErrOutside if the machine ended a copy of the run that was to go on in
// another way.
func (a Answer) outside(seed uint64) error {
	for _, replies := range a.Forks {
		for _, reply := range replies {
			if reply.Outside {
				_, err := reply.Read(seed)
				return err
			}
		}
	}
	return nil
}

// try has the worker of this seat do a job, or a new one if that does not fit.
func (s *seat) try(ctx context.Context, job Job) (Answer, error) {
	template := job.Spec.Template()
	if s.worker != nil && (s.worker.template != template || job.InPlace) {
		s.close()
	}
	if s.worker == nil {
		worker, err := startProcess(s.config.Binary, template, s.environment...)
		if err != nil {
			return Answer{}, err
		}
		s.worker = worker
	}
	worker := s.worker
	defer context.AfterFunc(ctx, worker.kill)()
	answer, err := worker.do(job)
	if err != nil && worker.over() && ctx.Err() == nil {
		err = errors.Join(err, s.salvage(job, err))
	}
	if job.InPlace || worker.over() {
		s.close()
	}
	return answer, err
}

// salvage writes what is known of a run whose worker has ended with it.
func (s *seat) salvage(job Job, died error) error {
	if job.Folder == "" {
		return nil
	}
	return scenario.WriteUnfinished(job.Folder, job.Spec, scenario.BuildOf(s.config.Binary), s.worker.decisions(), died.Error()+"\n")
}

func (s *seat) close() {
	if s.worker != nil {
		s.worker.wait()
		s.worker.tape.Close()
		s.worker = nil
	}
}

func (s *seat) folder(spec scenario.Spec) (string, error) {
	path := filepath.Join(s.config.Out, spec.Name())
	if !s.config.Resumes {
		return scenario.NewFolder(path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(path, 0o755)
}
