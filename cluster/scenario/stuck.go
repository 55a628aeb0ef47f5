package scenario

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// NeverReturned is the code of a violation of Completed: a call into the code under test
// did not return.
const NeverReturned = "never-returned"

// stuckAfter is how long a call into the code under test may take: twice the timeout of a request,
// for which a stopping server may wait.
const stuckAfter = 2 * time.Minute

// stuck returns the violation of a run that ended early because the code under test is in a
// deadlock: a call to start, stop or inspect it has not returned although nothing hinders it any
// more. A run that ended early for another reason, such as a deadlock among clients of the harness,
// proves nothing.
func (r *Run) stuck() (Violation, bool) {
	for _, call := range r.Waiting {
		lasted := r.Result.Simulated - call.Since
		if lasted < stuckAfter && r.Result.Stop != sim.Deadlock {
			continue
		}
		function := Innermost(stackOf(r.Result.Stacks, call.Process))
		text := fmt.Sprintf("%s of %s never returned; it was called at %v, and the run ended at %v",
			call.What, call.Process, r.sinceBegan(call.Since), r.sinceBegan(r.Result.Simulated))
		if function != "" {
			text += " while it waited in " + function
		}
		return Unfinished(NeverReturned, text, function), true
	}
	return Violation{}, false
}

func (r *Run) sinceBegan(at time.Duration) time.Duration {
	return (at - r.Began).Round(time.Millisecond)
}

// stackOf returns the stack of the process's goroutine that the cluster called, from the stacks of
// a result; empty if there is none.
func stackOf(stacks, process string) string {
	for _, stack := range strings.Split(stacks, "\n\n") {
		if strings.HasPrefix(stack, "["+process+" #") && strings.Contains(stack, "/cluster.(*") && strings.Contains(stack, "/sim.(*Process).Do") {
			return stack
		}
	}
	return ""
}

// frame is a line of a stack that names a function.
var frame = regexp.MustCompile(`^(\S+)\(.*\)$`)

// Innermost returns the innermost function of a stack that belongs neither to the runtime nor to a
// synchronisation package; empty if there is no stack.
func Innermost(stack string) string {
	for line := range strings.Lines(stack) {
		match := frame.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		name := match[1]
		if name != "panic" && !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/") {
			return name
		}
	}
	return ""
}
