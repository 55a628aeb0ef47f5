package explore

import (
	"context"
	"errors"
	"time"

	"github.com/watchsim/watchsim/search/parallel"
	"github.com/watchsim/watchsim/sim"
)

// Outcome is what came of an attempt.
type Outcome struct {
	Explored sim.Explored
	// Failed means that a guarantee was broken, Inconclusive that nothing was decided.
	Failed, Inconclusive bool
	// History is a hash of what the clients saw; 0 if that is not known.
	History uint64
	// Looks are those that the attempt asked for.
	Looks []Look
	// End tells how windows end; 0 if that is not known. Unjudged means that the run
	// ended there, or on the way where a run before had come through: its verdict is that
	// of the run before with this end.
	End      uint64
	Unjudged bool
}

// Runner has attempts run that differ in their last deviation alone, and returns an
// outcome for each. It may be called from several goroutines.
type Runner func(context.Context, []Attempt) ([]Outcome, error)

// Limits end a search early. A limit of 0 is none.
type Limits struct {
	// Runs is how many attempts are run, Failures how many may fail.
	Runs, Failures int
	// Budget is real time.
	Budget time.Duration
	// Parallel is how many attempts run at one time, at least 1.
	Parallel int
}

// Why a search ended.
const (
	EndedItself   = "the strategy has nothing left to try"
	EndedRuns     = "the limit of runs was hit"
	EndedFailures = "the limit of failures was hit"
	EndedBudget   = "the budget of time is used up"
	EndedAsked    = "it was interrupted"
)

// Result is how a search ended.
type Result struct {
	*Tally
	// Ended is why the search ended.
	Ended string
	// Exhausted says what has been tried completely; it is empty unless the strategy
	// has come to its own end, and no two runs contradicted what it takes for one state.
	Exhausted string
}

// Search runs a strategy to its end or to a limit. each is called for every
// attempt, in order, as soon as it is learned; it may be nil. The error is the first of
// the runner's; what was learned until then is in the result.
func Search(ctx context.Context, strategy Strategy, run Runner, limits Limits, each func(Attempt, Outcome)) (Result, error) {
	s := &search{strategy: strategy, tally: newTally(), each: each, limits: limits, early: map[int]done{}}
	if limits.Budget > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, limits.Budget, errBudget)
		defer cancel()
		ctx = timed
	}
	err := parallel.Run(ctx, limits.Parallel, s.next, run, s.take)
	came := Result{Tally: s.tally, Ended: EndedItself}
	switch {
	case errors.Is(err, errFailures):
		came.Ended, err = EndedFailures, nil
	case err != nil && errors.Is(context.Cause(ctx), errBudget):
		came.Ended, err = EndedBudget, nil
	case err != nil && ctx.Err() != nil:
		came.Ended, err = EndedAsked, nil
	case err != nil:
		came.Ended = EndedAsked
	case limits.Runs > 0 && s.number == limits.Runs:
		came.Ended = s.endAtLimit()
	}
	if came.Ended == EndedItself && s.tally.Contradictions == 0 && s.tally.Misjudged == 0 {
		came.Exhausted = strategy.Exhausted()
	}
	return came, err
}

// What ends the work of a search before it has come to its end.
var (
	errBudget   = errors.New(EndedBudget)
	errFailures = errors.New(EndedFailures)
)

// search is the state of Search.
type search struct {
	strategy Strategy
	tally    *Tally
	each     func(Attempt, Outcome)

	limits  Limits
	number  int          // of the next attempt
	cut     bool         // the limit of runs left some out
	learned int          // attempts that the strategy knows about
	early   map[int]done // outcomes that came before those of earlier attempts
}

type done struct {
	attempt Attempt
	outcome Outcome
}

// next asks the strategy for attempts, unless the limit is hit.
func (s *search) next() ([]Attempt, bool) {
	if s.limits.Runs > 0 && s.number == s.limits.Runs {
		return nil, false
	}
	group := s.strategy.Next()
	if left := s.limits.Runs - s.number; s.limits.Runs > 0 && len(group) > left {
		group, s.cut = group[:left], true
	}
	for i := range group {
		group[i].Number = s.number
		s.number++
	}
	return group, len(group) > 0
}

// endAtLimit tells a strategy that is at its end from one that the limit of runs
// cut short: only now may it be asked for one more.
func (s *search) endAtLimit() string {
	if s.cut || len(s.strategy.Next()) > 0 {
		return EndedRuns
	}
	return EndedItself
}

// take learns the outcomes of a group, and those that waited for them.
func (s *search) take(attempts []Attempt, outcomes []Outcome) error {
	for i, attempt := range attempts {
		s.early[attempt.Number] = done{attempt, outcomes[i]}
	}
	for s.limits.Failures <= 0 || s.tally.Failed < s.limits.Failures {
		d, ok := s.early[s.learned]
		if !ok {
			return nil
		}
		delete(s.early, s.learned)
		s.learned++
		d.outcome = s.tally.add(d.attempt, d.outcome)
		s.strategy.Learn(d.attempt, d.outcome)
		if s.each != nil {
			s.each(d.attempt, d.outcome)
		}
	}
	return errFailures
}
