package shrink

import (
	"context"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim/scenario"
	"github.com/watchsim/watchsim/sim/swarm"
)

// Runner returns the function that has candidates run by a pool of workers.
func Runner(pool *swarm.Pool, guarantee string) func(context.Context, Case, bool) (Outcome, error) {
	return func(ctx context.Context, candidate Case, details bool) (Outcome, error) {
		answer, err := pool.Do(ctx, swarm.Job{Spec: candidate.Spec, Tape: candidate.Tape, Details: details})
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{
			Broken:     Breaks(answer.Verdict, guarantee),
			Operations: answer.Verdict.Operations,
			Seconds:    answer.Verdict.SimulatedSeconds,
			Details:    answer.Details,
		}, nil
	}
}

// Breaks is whether a verdict says that the guarantee is broken, and that nothing
// went wrong with the run itself.
func Breaks(verdict scenario.Verdict, guarantee string) bool {
	if verdict.Outcome != linearizability.Failed {
		return false
	}
	for _, violation := range verdict.Violations {
		if violation.Guarantee == guarantee {
			return true
		}
	}
	return false
}
