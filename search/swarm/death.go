package swarm

import (
	"errors"
	"fmt"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/sim/fork"
)

// Death is how a run ended its process. It is in the chain of an ErrDied.
type Death struct {
	Cause fork.Cause
	// Text says it in words. If the run panicked, the stacks follow.
	Text string
}

func (d *Death) Error() string { return d.Text }

// died wraps a death in what it means for a run.
func died(meaning error, seed uint64, cause fork.Cause, text string) error {
	return fmt.Errorf("%w: seed %d: %w", meaning, seed, &Death{cause, text})
}

// Unfinished returns the violation of a run that ended its process.
func Unfinished(err error) scenario.Violation {
	death := &Death{Cause: fork.Exited}
	errors.As(err, &death)
	return scenario.Unfinished(string(death.Cause), err.Error(), scenario.Innermost(death.Text))
}
