package swarm

import (
	"context"
	"errors"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/explore"
	"github.com/watchsim/watchsim/sim"
)

// AttemptJob returns the job of an attempt at a scenario, whose spec must say how it is
// explored.
func AttemptJob(attempt explore.Attempt, spec scenario.Spec) (Job, error) {
	exploration := *spec.Explore
	exploration.Observe, exploration.Priorities = attempt.Observe, attempt.Priorities
	spec = spec.WithSeed(attempt.Seed)
	spec.Explore = &exploration
	steered := !attempt.Observe && attempt.Priorities == nil
	spec.Branches = nil
	for _, b := range attempt.Branches {
		branch, err := spec.Redrawn(b.At, b.Seed)
		if err != nil {
			return Job{}, err
		}
		spec.Branches = append(spec.Branches, branch)
	}
	return Job{Spec: spec, Tape: attempt.Tape(), Choices: steered, Looks: attempt.Looks}, nil
}

// shared returns the job that runs what attempts have in common once, and then forks for each of
// them.
func shared(attempts []explore.Attempt, spec scenario.Spec) (Job, error) {
	if len(attempts[0].Branches) > 0 {
		return branched(attempts, spec)
	}
	before := attempts[0]
	last := len(before.Deviations) - 1
	if last >= 0 {
		before.Deviations = before.Deviations[:last]
	}
	job, err := AttemptJob(before, spec)
	if !job.Choices || err != nil {
		return job, err
	}
	job.NewEnds = true
	if last < 0 {
		return job, nil
	}
	job.OnlyForks = true
	for _, attempt := range attempts {
		at := sim.Mark{Decision: uint64(attempt.Deviations[last].Decision)}
		if n := len(job.Forks); n == 0 || job.Forks[n-1].At != at {
			job.Forks = append(job.Forks, Fork{At: at})
		}
		fork := &job.Forks[len(job.Forks)-1]
		fork.Ways = append(fork.Ways, Way{Tape: attempt.Tape(), Whole: attempt.Whole})
	}
	return job, nil
}

// branched returns the job of attempts that differ only in their last branch.
func branched(attempts []explore.Attempt, spec scenario.Spec) (job Job, err error) {
	var fork Fork
	for _, attempt := range attempts {
		if job, err = AttemptJob(attempt, spec); err != nil {
			return job, err
		}
		n := len(job.Spec.Branches) - 1
		fork.At = job.Spec.Branches[n].At
		fork.Ways = append(fork.Ways, Way{Branch: job.Spec.Branches[n]})
		job.Spec.Branches = job.Spec.Branches[:n]
	}
	job.Forks, job.OnlyForks = []Fork{fork}, true
	return job, nil
}

// Attempts returns a runner that runs attempts at a scenario in a pool of workers. An
// attempt whose run ends its process has failed.
func Attempts(pool *Pool, spec scenario.Spec) explore.Runner {
	return func(ctx context.Context, attempts []explore.Attempt) ([]explore.Outcome, error) {
		job, err := shared(attempts, spec)
		if err != nil {
			return nil, err
		}
		answer, err := pool.Do(ctx, job)
		if len(job.Forks) == 0 {
			outcome, err := outcomeOf(answer, err)
			return []explore.Outcome{outcome}, errors.Join(err, ctx.Err())
		}
		outcomes := make([]explore.Outcome, 0, len(attempts))
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !errors.Is(err, ErrDied):
			return nil, err
		}
		for i, fork := range job.Forks {
			for k := range fork.Ways {
				// Nothing is known of forks that the run did not reach.
				outcome, err := outcomeOf(Answer{}, ErrDied)
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

// outcomeOf returns the outcome of an attempt from its answer.
func outcomeOf(answer Answer, err error) (explore.Outcome, error) {
	switch {
	case errors.Is(err, ErrDied):
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
		Looks:        answer.Looks,
		End:          answer.Explored.End,
		Unjudged:     answer.Explored.Unjudged,
	}
	outcome.Explored = answer.Explored.Unpack()
	return outcome, nil
}
