package sim

import "runtime"

// Here is called when a run has reached a breakpoint, if its Config asks for that: every
// goroutine is in place, and none runs. It does nothing; debuggers can stop at it:
//
//	dlv exec ... --init <(echo 'break github.com/watchsim/watchsim/sim.Here')
//
//go:noinline
func Here(at *Result) { runtime.KeepAlive(at) }
