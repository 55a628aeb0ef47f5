package pooled

import (
	"context"
	"errors"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim/explore"
	"github.com/watchsim/watchsim/sim/scenario"
	"github.com/watchsim/watchsim/sim/swarm"
)

// Job is what a worker is to do for an attempt at a scenario, whose spec has to say how
// it is explored.
func Job(attempt explore.Attempt, spec scenario.Spec) swarm.Job {
	exploration := *spec.Explore
	exploration.Observe, exploration.Priorities = attempt.Observe, attempt.Priorities
	spec.Seed, spec.Explore = attempt.Seed, &exploration
	steered := !attempt.Observe && attempt.Priorities == nil
	return swarm.Job{Spec: spec, Tape: attempt.Tape(), Choices: steered}
}

// Runner returns the runner that has attempts at a scenario run by a pool of workers.
// A worker that dies is a failure of its attempt.
func Runner(pool *swarm.Pool, spec scenario.Spec) explore.Runner {
	return func(ctx context.Context, attempt explore.Attempt) (explore.Outcome, error) {
		answer, err := pool.Do(ctx, Job(attempt, spec))
		switch {
		case errors.Is(err, swarm.ErrDied) && ctx.Err() == nil:
			outcome := explore.Outcome{Failed: true}
			outcome.Explored.Truncated = true
			return outcome, nil
		case err != nil:
			return explore.Outcome{}, err
		}
		outcome := explore.Outcome{
			Failed:       answer.Verdict.Outcome == linearizability.Failed,
			Inconclusive: answer.Verdict.Outcome == linearizability.Inconclusive,
			History:      answer.Explored.History,
		}
		outcome.Explored, err = answer.Explored.Unpack()
		return outcome, err
	}
}
