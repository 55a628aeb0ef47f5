package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// heldSince returns the RV after which the cache of a server held every change from one
// time to another; false unless it had initialised before, and neither reinitialised nor was
// replaced. A cache never holds again what it has dropped.
//
// Samples of caches may be late, because a goroutine that is stalled with a lock held delays
// them. If the run ends before a late sample can arrive, the result is false.
func (f *facts) heldSince(server string, from, to int64) (since int64, filled bool) {
	if to+stallBound.Nanoseconds() > f.history.End || f.replaced(server, from-stallBound.Nanoseconds(), to+stallBound.Nanoseconds()) {
		return 0, false
	}
	filling := 0
	for _, w := range f.history.Windows {
		switch {
		case w.Server != server:
			continue
		case w.Time > to+stallBound.Nanoseconds():
			return since, filling > 0
		case w.Time <= from-stallBound.Nanoseconds():
			filling = w.Filling
		case w.Filling != filling:
			return 0, false
		}
		since = w.Since
	}
	return since, filling > 0
}

// storageRestart is the name of the fault that replaces a server's storage and cache while
// the server keeps serving. Its watches stay on the old cache until that stops, so that one
// server has two caches for a while.
const storageRestart = "storage-restart"

// replaced reports whether the storage of a server may have been replaced between two
// times: responses and events in between may have come from two different caches.
func (f *facts) replaced(server string, from, to int64) bool {
	return slices.ContainsFunc(f.history.Faults, func(fault model.Fault) bool {
		return fault.Name == storageRestart && fault.End >= from && fault.Begin <= to && slices.Contains(fault.Processes, server)
	})
}
