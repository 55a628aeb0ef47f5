package sim

import (
	"runtime"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Forced is how a schedule departs from the plainest one, in which goroutines
// take turns in the order in which they became ready, nobody is interrupted, and
// select looks at its first case first.
type Forced struct {
	// Switches counts where another goroutine than the first in the queue ran, a
	// goroutine was interrupted for the others, or select began with another case.
	Switches int `json:"switches"`
	// Stalls counts the sleeps at synchronisation points.
	Stalls int `json:"stalls"`
}

// Forced counts what the schedule forced in a run with this trace. It knows a
// decision by how many alternatives it had, so that its counts are close rather
// than exact where a queue or a place in focus has as many by chance.
func (t Trace) Forced(schedule Schedule) Forced {
	var forced Forced
	for i := 0; i < len(t); i++ {
		chosen, alternatives, ok := t.choice(i)
		switch {
		case !ok:
		case schedule.YieldEvery > 0 && alternatives == 2*schedule.YieldEvery:
			// The time of the next yield. Then comes whether this one is a stall, and
			// if so, its length.
			stalls := false
			if schedule.StallOneIn > 0 {
				i++
				whether, _, _ := t.choice(i)
				stalls = whether == 1%schedule.StallOneIn
			}
			if stalls {
				i++
				forced.Stalls++
			} else {
				forced.Switches++
			}
		case alternatives == stallLengths && schedule.FocusOneIn > 0:
			forced.Stalls++
		case chosen > 0 && (t.picks(i) || t.selects(i)):
			forced.Switches++
		}
	}
	return forced
}

// stallLengths is how many lengths of a stall the kernel chooses from.
const stallLengths = 256

// choice is the record at i as a decision, if it is one.
func (t Trace) choice(i int) (chosen, alternatives uint32, ok bool) {
	if i >= len(t) || t[i].Kind != kernel.TraceChoice {
		return 0, 0, false
	}
	return uint32(t[i].What), uint32(t[i].What >> 32), true
}

// picks is whether the decision at i was which goroutine runs.
func (t Trace) picks(i int) bool { return i+1 < len(t) && t[i+1].Kind == kernel.TracePick }

// selects is whether the decision at i was taken by a select: its synchronisation
// point came before.
func (t Trace) selects(i int) bool {
	for i--; i >= 0; i-- {
		switch t[i].Kind {
		case kernel.TracePoint:
			for _, pc := range t[i].Callers[:3] {
				if f := runtime.FuncForPC(pc); f != nil && f.Name() == "runtime.selectgo" {
					return true
				}
			}
			return false
		case kernel.TracePick:
			return true // it yielded in between
		}
	}
	return false
}
