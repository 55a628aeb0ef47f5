package explore

import (
	"context"
	"sync"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Outcome is what came of an attempt.
type Outcome struct {
	Explored sim.Explored
	// Failed means that a guarantee was broken, Inconclusive that nothing was decided.
	Failed, Inconclusive bool
	// History is a hash of what the clients saw; 0 if that is not known.
	History uint64
}

// Runner has one attempt run. It may be called from several goroutines.
type Runner func(context.Context, Attempt) (Outcome, error)

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
	s := &search{strategy: strategy, tally: newTally(), each: each, early: map[int]done{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var budget <-chan time.Time
	if limits.Budget > 0 {
		timer := time.NewTimer(limits.Budget)
		defer timer.Stop()
		budget = timer.C
	}
	attempts, outcomes := make(chan Attempt), make(chan done)
	var workers sync.WaitGroup
	for range max(1, limits.Parallel) {
		workers.Go(func() {
			for attempt := range attempts {
				outcome, err := run(ctx, attempt)
				outcomes <- done{attempt, outcome, err}
			}
		})
	}
	ended := ""
	for ended == "" {
		s.fill(limits.Runs)
		if s.next == nil && s.underWay == 0 {
			ended = EndedItself
			if limits.Runs > 0 && s.number == limits.Runs {
				ended = s.endAtLimit()
			}
			break
		}
		offer, attempt := attempts, Attempt{}
		if s.next != nil {
			attempt = *s.next
		} else {
			offer = nil
		}
		select {
		case offer <- attempt:
			s.next = nil
			s.underWay++
		case d := <-outcomes:
			s.take(d)
			switch {
			case s.err != nil:
				ended = EndedAsked
			case limits.Failures > 0 && s.tally.Failed >= limits.Failures:
				ended = EndedFailures
			}
		case <-budget:
			ended = EndedBudget
		case <-ctx.Done():
			ended = EndedAsked
		}
	}
	if ended != EndedItself && ended != EndedRuns {
		cancel() // nobody waits for what is still under way
	}
	close(attempts)
	go func() {
		workers.Wait()
		close(outcomes)
	}()
	for range outcomes {
	}
	result := Result{Tally: s.tally, Ended: ended}
	if ended == EndedItself && s.tally.Contradictions == 0 {
		result.Exhausted = strategy.Exhausted()
	}
	return result, s.err
}

// search is the state of Search.
type search struct {
	strategy Strategy
	tally    *Tally
	each     func(Attempt, Outcome)

	next     *Attempt     // to be run
	number   int          // of the attempt after that
	underWay int          // attempts being run
	learned  int          // attempts that the strategy knows about
	early    map[int]done // outcomes that came before those of earlier attempts
	err      error
}

type done struct {
	attempt Attempt
	outcome Outcome
	err     error
}

// fill asks the strategy for an attempt, unless there is one or the limit is hit.
func (s *search) fill(most int) {
	if s.next != nil || most > 0 && s.number == most {
		return
	}
	attempt, ok := s.strategy.Next()
	if !ok {
		return
	}
	attempt.Number = s.number
	s.number++
	s.next = &attempt
}

// endAtLimit tells a strategy that is at its end from one that the limit of runs
// cut short: only now may it be asked for one more.
func (s *search) endAtLimit() string {
	if _, more := s.strategy.Next(); more {
		return EndedRuns
	}
	return EndedItself
}

// take learns an outcome, and those that waited for it.
func (s *search) take(d done) {
	s.underWay--
	if d.err != nil && s.err == nil {
		s.err = d.err
	}
	s.early[d.attempt.Number] = d
	for s.err == nil {
		d, ok := s.early[s.learned]
		if !ok {
			return
		}
		delete(s.early, s.learned)
		s.learned++
		s.tally.add(d.attempt, d.outcome)
		s.strategy.Learn(d.attempt, d.outcome.Explored)
		if s.each != nil {
			s.each(d.attempt, d.outcome)
		}
	}
}
