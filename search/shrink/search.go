package shrink

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/search/swarm"
)

// ErrNotBroken means that the run to be shrunk does not break the guarantee.
var ErrNotBroken = errors.New("the run breaks no guarantee any more")

// Status is the progress of a search.
type Status struct {
	// Doing says what is being left out.
	Doing string
	// Tried counts the candidates so far.
	Tried int
	// Faults, Clients and Steps are what is left, and Operations the requests of its last run.
	Faults, Clients, Steps, Operations int
	// Turns reports whether goroutines take turns.
	Turns bool
}

// Config is what a search needs.
type Config struct {
	Try Try
	// Workers is how many calls of it run concurrently.
	Workers int
	// Budget is the real time for trying candidates, 0 for no limit. Running the whole case once is
	// extra.
	Budget time.Duration
	// Progress is called now and then, from one goroutine at a time.
	Progress func(Status)
}

// Result is the smallest case found.
type Result struct {
	Case Case
	// Whole is the given case, and Before its outcome.
	Whole  Case
	Before Outcome
	// Tried counts candidates. Complete means that the search was not cut short: nothing else can
	// be left out, except single deviations of a long schedule.
	Tried    int
	Complete bool
}

// search is a search in progress. Only best is shared by goroutines.
type search struct {
	Config
	ctx    context.Context
	cancel context.CancelFunc
	doing  string
	drawn  uint64 // the last seed that a schedule was drawn from

	mu         sync.Mutex
	best       Case
	led        []explain.Moment // what led to its violation
	operations int
	tried      int
	failure    error
	// unbroken has the keys of candidates that were tried and are not broken: a round that changes
	// nothing repeats much of the one before.
	unbroken sync.Map
}

// Shrink makes a failing case smaller until nothing can be left out any more, the budget is used up
// or ctx is done. It is given a whole run with its tape.
func Shrink(ctx context.Context, config Config, whole Case, guarantee string) (Result, error) {
	outcomes, err := config.Try(ctx, []Case{whole}, true)
	switch {
	case err != nil:
		return Result{}, err
	case !outcomes[0].Broken:
		return Result{}, ErrNotBroken
	}
	before := outcomes[0]
	var cancel context.CancelFunc
	if config.Budget > 0 {
		ctx, cancel = context.WithTimeout(ctx, config.Budget)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	s := &search{Config: config, ctx: ctx, cancel: cancel, best: TakenApart(whole, *before.Details, guarantee), operations: before.Operations, tried: 1, drawn: schedulesWhole}
	complete := false
	if s.schedule() || s.otherSchedule() || s.first("nothing", []Case{s.best}) == 0 {
		complete = s.run()
	} else {
		s.best = whole
	}
	if s.failure != nil {
		return Result{}, s.failure
	}
	return Result{Case: s.best, Whole: whole, Before: before, Tried: s.tried, Complete: complete}, nil
}

// TakenApart returns a whole run as a reduced one that leaves nothing out: the same run, with the
// same hash, as long as clients wake exactly as often.
func TakenApart(whole Case, details swarm.Details, guarantee string) Case {
	c := Case{Spec: whole.Spec, Tape: details.Tape}
	c.Spec.Plan, c.Spec.Schedule = details.Plan, &details.Schedule
	// The tape contains the effects of the other branches.
	c.Spec.Branches = slices.DeleteFunc(slices.Clone(c.Spec.Branches), func(b scenario.Branch) bool { return !b.Redraw })
	reduced := scenario.Reduction{Parts: details.Parts}
	if c.Spec.Reduced != nil {
		reduced = *c.Spec.Reduced
	}
	reduced.Guarantee = guarantee
	c.Spec.Reduced = &reduced
	return c
}

// run leaves out one kind of thing after the other until a round changes nothing. It returns false
// if it was cut short.
func (s *search) run() bool {
	s.told()
	s.calm()
	for s.ctx.Err() == nil {
		before := s.best.key()
		s.clients()
		s.told() // which is more precise now
		s.faults()
		s.time()
		s.steps()
		s.knobs()
		s.shorten()
		s.schedule()
		s.time()
		if s.best.key() == before {
			s.tape()
			return s.ctx.Err() == nil
		}
	}
	return false
}

// first tries candidates, with several schedules each if the schedule matters, and
// makes the first that is still broken the best case. It returns its index, or -1.
func (s *search) first(doing string, candidates []Case) int {
	all, each := s.withSchedules(candidates)
	found := s.firstAsIs(doing, all)
	if found < 0 {
		return found
	}
	return found / each
}

// firstAsIs is first, with the candidates' own schedules.
func (s *search) firstAsIs(doing string, candidates []Case) int {
	s.doing = doing
	outcomes := make([]Outcome, len(candidates))
	groups := sharing(candidates)
	found := firstOf(s.Workers, len(groups), func(group int) bool { return s.try(candidates, groups[group], outcomes) })
	if found < 0 {
		return found
	}
	found = slices.IndexFunc(outcomes, func(o Outcome) bool { return o.Broken })
	s.best, s.operations, s.led = candidates[found], outcomes[found].Operations, outcomes[found].Led
	return found
}

// try tries a group of candidates, except impossible ones and those tried before, and reports
// whether one of them is broken.
func (s *search) try(candidates []Case, group []int, outcomes []Outcome) (broken bool) {
	var cases []Case
	group = slices.DeleteFunc(group, func(i int) bool {
		if _, known := s.unbroken.Load(candidates[i].key()); known || candidates[i].Spec.Validate() != nil {
			return true
		}
		cases = append(cases, candidates[i])
		return false
	})
	if len(group) == 0 || s.ctx.Err() != nil {
		return false
	}
	tried, err := s.Try(s.ctx, cases, false)
	s.note(len(cases), err)
	if s.ctx.Err() != nil {
		return false
	}
	if err != nil {
		tried = make([]Outcome, len(cases))
	}
	for n, i := range group {
		outcomes[i] = tried[n]
		broken = broken || tried[n].Broken
		if !tried[n].Broken {
			s.unbroken.Store(cases[n].key(), true)
		}
	}
	return broken
}

// key identifies a case.
func (c Case) key() [sha256.Size]byte {
	content, _ := json.Marshal(c) // of plain fields
	return sha256.Sum256(content)
}

// note counts candidates that were tried. One whose worker died breaks nothing; any other error
// ends the search.
func (s *search) note(candidates int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried += candidates
	if err != nil && s.ctx.Err() == nil && !errors.Is(err, swarm.ErrDied) && s.failure == nil {
		s.failure = err
		s.cancel()
	}
	if s.Progress == nil {
		return
	}
	status := Status{Doing: s.doing, Tried: s.tried, Operations: s.operations, Turns: s.best.takesTurns()}
	status.Faults, status.Clients, status.Steps = s.best.size()
	s.Progress(status)
}

// leaveOut minimises a list of a case, in at most that number of pieces.
func leaveOut[T any](s *search, doing string, items []T, pieces int, with func(Case, []T) Case) {
	faults.Minimise(items, pieces, func(lists [][]T) int {
		candidates := make([]Case, len(lists))
		for i, list := range lists {
			candidates[i] = with(s.best, list)
		}
		return s.first(doing, candidates)
	})
}

func (s *search) clients() {
	var names []string
	for _, part := range s.best.Spec.Reduced.Parts {
		names = append(names, part.Client)
	}
	leaveOut(s, "clients", leastLikely(names, s.clientMatters), faults.EveryItem, Case.withClients)
}

func (s *search) faults() {
	var numbers []int
	for i := range s.best.plan() {
		numbers = append(numbers, i)
	}
	whole := s.best.plan()
	leaveOut(s, "faults", leastLikely(numbers, func(i int) float64 { return s.faultMatters(whole[i]) }), faults.EveryItem, func(c Case, kept []int) Case {
		var plan faults.Plan
		for i, fault := range whole {
			if slices.Contains(kept, i) {
				plan = append(plan, fault)
			}
		}
		return c.withPlan(plan)
	})
}

func (s *search) steps() {
	leaveOut(s, "steps of clients", leastLikely(s.best.steps(), s.stepMatters), faults.EveryItem, Case.withSteps)
}

// time ends the run soon after the last thing that is due to happen, with the shortest sufficient
// quiet phase.
func (s *search) time() {
	const least = time.Second // a smaller gain is not worth a run
	whole := s.best.Spec.Duration
	quiet := s.best.Spec.QuietPhase()
	var candidates []Case
	add := func(active, q time.Duration) {
		if c := s.best; q <= quiet && active+q+least <= whole {
			c.Spec.Quiet, c.Spec.Duration = q, active+q
			candidates = append(candidates, c)
		}
	}
	for _, q := range []time.Duration{time.Second, 4 * time.Second, quiet} {
		add(s.best.busy(), q)
	}
	add(whole-quiet, time.Second)
	s.first("time", candidates)
}

// Knobs returns a spec's knobs with unusual values, as name=value, except the lengths of the run,
// which are shortened instead of left out.
func Knobs(spec scenario.Spec) []string {
	return slices.DeleteFunc(spec.Unusual(), func(setting string) bool {
		return strings.HasPrefix(setting, "duration=") || strings.HasPrefix(setting, "quiet=")
	})
}

// knobs sets as much as possible of the run's setup to its usual value: topology, sizes, settings
// of etcd and Kubernetes. The rest of a reduced run hardly depends on it.
func (s *search) knobs() {
	whole := s.best.Spec
	names := Knobs(whole)
	for i, setting := range names {
		names[i], _, _ = strings.Cut(setting, "=")
	}
	leaveOut(s, "knobs", names, faults.EveryItem, func(c Case, kept []string) Case {
		c.Spec = whole.WithUsual(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(kept, name) })...)
		return c
	})
}

// shortest is the shortest duration that a fault may get.
const shortest = 100 * time.Millisecond

// shorten shortens faults.
func (s *search) shorten() {
	for i := range s.best.plan() {
		for s.best.plan()[i].Lasts > shortest {
			shorter := func(lasts time.Duration) Case {
				plan := s.best.plan()
				plan[i].Lasts = max(lasts, shortest).Round(shortest)
				return s.best.withPlan(plan)
			}
			lasts := s.best.plan()[i].Lasts
			if s.first("length of faults", []Case{shorter(lasts / 8), shorter(lasts / 2)}) < 0 {
				break
			}
		}
	}
}

// String describes a status in a line.
func (s Status) String() string {
	schedule := "a schedule that forces switches"
	if s.Turns {
		schedule = "goroutines take turns"
	}
	return fmt.Sprintf("%d tried, leaving out %s: %d operations, %d clients with %d steps, %d faults, %s",
		s.Tried, s.Doing, s.Operations, s.Clients, s.Steps, s.Faults, schedule)
}
