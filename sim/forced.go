package sim

import (
	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Forced counts how a schedule deviates from the default one, in which goroutines take turns in the
// order in which they became runnable, none is interrupted, and select tries its first case first.
type Forced struct {
	// Switches counts how often a goroutine other than the first in the queue ran, a goroutine was
	// interrupted for others, or select began with another case.
	Switches int `json:"switches"`
	// Stalls counts the sleeps at synchronisation points.
	Stalls int `json:"stalls"`
}

// Forced counts the deviations of the run with this trace.
func (t Trace) Forced() Forced {
	var forced Forced
	var last Kind
	for i := range t {
		kind, chosen, _ := t.decision(i)
		switch kind {
		case 0:
			continue
		case KindLength:
			forced.Stalls++
			if last == KindStall {
				forced.Switches-- // the interruption was that stall
			}
		case KindYield:
			forced.Switches++
		case KindPick, KindSelect, KindPoint:
			if chosen > 0 {
				forced.Switches++
			}
		}
		last = kind
	}
	return forced
}

// decision returns the record at i as a decision; its kind is 0 if it is not one.
func (t Trace) decision(i int) (kind Kind, chosen, of uint32) {
	if t[i].Kind <= kernel.TraceDecision {
		return 0, 0, 0
	}
	return Kind(t[i].Kind - kernel.TraceDecision), uint32(t[i].What), uint32(t[i].What >> 32)
}
