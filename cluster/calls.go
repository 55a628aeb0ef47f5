package cluster

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Call is a call into the code under test that nothing bounds, such as the stop of an API
// server.
type Call struct {
	// What says what was asked for; Process is the name of the process that does it.
	What, Process string
	// Since is when it began, from the start of the world.
	Since time.Duration
}

// call runs f in a process, and reports false if the process crashed before f was done.
// Until then, Waiting returns the call.
func (c *Cluster) call(what string, process *sim.Process, f func()) (done bool) {
	call := &Call{What: what, Process: process.Name(), Since: c.world.Now()}
	sim.Aside(func() { c.calls = append(c.calls, call) })
	done = process.Do(f)
	sim.Aside(func() { c.calls = slices.DeleteFunc(c.calls, func(other *Call) bool { return other == call }) })
	return done
}

// Waiting returns the calls that have not returned, in the order in which they began. It
// waits for nothing, so that it can be asked once a run has ended early.
func (c *Cluster) Waiting() []Call {
	calls := make([]Call, len(c.calls))
	for i, call := range c.calls {
		calls[i] = *call
	}
	return calls
}
