package sim

import "github.com/watchsim/watchsim/sim/internal/kernel"

// Waiter is a goroutine of a run that stands still, and where it waits.
type Waiter = kernel.Waiter

// waitersRoom is how many goroutines there is room for at first.
const waitersRoom = 1 << 12

// Waiting tells where each goroutine waits, while the world stands still, in order of
// their creation. What it returns is written over by the next call.
func (w *World) Waiting() []Waiter {
	if w.waiters == nil {
		w.waiters = make([]Waiter, waitersRoom)
	}
	n := kernel.Waiters(w.waiters)
	if n > len(w.waiters) {
		w.waiters = make([]Waiter, 2*n)
		n = kernel.Waiters(w.waiters)
	}
	return w.waiters[:min(n, len(w.waiters))]
}

// ProcessName is the name of the process that a waiter belongs to, in a pause.
func (w *World) ProcessName(waiter Waiter) string { return w.groups[waiter.Group].name }
