package swarm

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

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
	return scenario.Unfinished(string(death.Cause), err.Error(), panicked(death.Text))
}

// frame is a line of a stack that names a function.
var frame = regexp.MustCompile(`^(\S+)\(.*\)$`)

// panicked is the innermost function of a stack that is not the runtime's; empty if
// there is no stack.
func panicked(stack string) string {
	for line := range strings.Lines(stack) {
		match := frame.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		if name := match[1]; name != "panic" && !strings.HasPrefix(name, "runtime.") {
			return name
		}
	}
	return ""
}
