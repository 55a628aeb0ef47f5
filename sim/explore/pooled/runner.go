package pooled

import (
	"context"
	"errors"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim"
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

// shared is the job that does what attempts have in common once, and then goes on as each
// of them does.
func shared(attempts []explore.Attempt, spec scenario.Spec) swarm.Job {
	before := attempts[0]
	last := len(before.Deviations) - 1
	if last >= 0 {
		before.Deviations = before.Deviations[:last]
	}
	job := Job(before, spec)
	if !job.Choices {
		return job
	}
	job.NewEnds = true
	if last < 0 {
		return job
	}
	job.OnlyForks = true
	for _, attempt := range attempts {
		at := sim.Mark{Decision: uint64(attempt.Deviations[last].Decision)}
		if n := len(job.Forks); n == 0 || job.Forks[n-1].At != at {
			job.Forks = append(job.Forks, swarm.Fork{At: at})
		}
		fork := &job.Forks[len(job.Forks)-1]
		fork.Ways = append(fork.Ways, swarm.Way{Tape: attempt.Tape(), Whole: attempt.Whole})
	}
	return job
}

// Runner returns the runner that has attempts at a scenario run by a pool of workers.
// A run that ends its process is a failure of its attempt.
func Runner(pool *swarm.Pool, spec scenario.Spec) explore.Runner {
	return func(ctx context.Context, attempts []explore.Attempt) ([]explore.Outcome, error) {
		job := shared(attempts, spec)
		answer, err := pool.Do(ctx, job)
		if len(job.Forks) == 0 {
			outcome, err := outcomeOf(answer, err)
			return []explore.Outcome{outcome}, errors.Join(err, ctx.Err())
		}
		outcomes := make([]explore.Outcome, 0, len(attempts))
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !errors.Is(err, swarm.ErrDied):
			return nil, err
		}
		for i, fork := range job.Forks {
			for k := range fork.Ways {
				// Where the run did not come to a fork, or died on the way, nothing is known.
				outcome, err := outcomeOf(swarm.Answer{}, swarm.ErrDied)
				if i < len(answer.Forks) && k < len(answer.Forks[i]) {
					outcome, err = outcomeOf(answer.Forks[i][k].Read(job.Spec.Seed))
				}
				if err != nil {
					return nil, err
				}
				outcomes = append(outcomes, outcome)
			}
		}
		return outcomes, nil
	}
}

// outcomeOf is what came of an attempt.
func outcomeOf(answer swarm.Answer, err error) (explore.Outcome, error) {
	switch {
	case errors.Is(err, swarm.ErrDied):
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
		End:          answer.Explored.End,
		Unjudged:     answer.Explored.Unjudged,
	}
	outcome.Explored = answer.Explored.Unpack()
	return outcome, nil
}
