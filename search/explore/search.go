package explore

import (
	"context"
	"errors"
	"time"

	"github.com/watchsim/watchsim/search/parallel"
	"github.com/watchsim/watchsim/sim"
)

// Outcome is the result of an attempt.
type Outcome struct {
	Explored sim.Explored
	// Failed means that a guarantee was broken, Inconclusive that nothing was decided.
	Failed, Inconclusive bool
	// History is a hash of what the clients saw; 0 if that is not known.
	History uint64
	// Looks are those that the attempt requested.
	Looks []Look
	// End identifies the end of the window; 0 if unknown. Unjudged means that the run ended there,
	// or in a state that an earlier run had passed through: it has the verdict of the earlier run
	// with this end.
	End      uint64
	Unjudged bool
}

// Runner runs attempts that differ only in their last deviation, and returns an outcome for each.
// It may be called concurrently.
type Runner func(context.Context, []Attempt) ([]Outcome, error)

// Limits end a search early. 0 means no limit.
type Limits struct {
	// Runs is how many attempts are run, Failures how many may fail.
	Runs, Failures int
	// Budget is real time.
	Budget time.Duration
	// Parallel is how many attempts run concurrently, at least 1.
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
	// Exhausted says what was tried completely; it is empty unless the strategy ended by itself,
	// and no two runs contradicted its definition of a state.
	Exhausted string
}

// Search runs a strategy to its end or to a limit. each, which may be nil, is called for every
// attempt, in order, as soon as it is learned. The error is the first of the runner's; the result
// has what was learned before.
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

// Why a search is cut short.
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
	number  int          // the next attempt's
	cut     bool         // some were left out by the limit of runs
	learned int          // attempts that the strategy has learned
	early   map[int]done // outcomes that arrived before those of earlier attempts
}

type done struct {
	attempt Attempt
	outcome Outcome
}

// next asks the strategy for attempts, unless the limit is reached.
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

// endAtLimit distinguishes a strategy that has ended from one that the limit of runs cut short:
// only now may it be asked for one more.
func (s *search) endAtLimit() string {
	if s.cut || len(s.strategy.Next()) > 0 {
		return EndedRuns
	}
	return EndedItself
}

// take learns the outcomes of a group, and those that waited for it.
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
