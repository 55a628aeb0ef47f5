package sim

import "runtime"

// Here is called when a run stands still at a breakpoint, if its Config asks for
// that: every goroutine is where it was, and none runs. It does nothing. It is
// there for a debugger to stop at:
//
//	dlv exec ... --init <(echo 'break github.com/watchsim/watchsim/sim.Here')
//
//go:noinline
func Here(at *Result) { runtime.KeepAlive(at) }
