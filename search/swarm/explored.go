package swarm

import (
	"hash/fnv"
	"unsafe"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces"
)

// Explored is what a run that explores was like, on its way from a worker.
type Explored struct {
	// Choices are the decisions as they lie in memory, if the job asked for them.
	Choices []byte `json:"choices,omitempty"`
	// First is the number of the first of these: that from which on the run was a copy.
	First     int    `json:"first,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	Shape     uint64 `json:"shape"`
	State     uint64 `json:"state"`
	Steps     uint64 `json:"steps"`
	// History is a hash of what the clients saw and when; 0 if that is not known.
	History uint64 `json:"history"`
	// End tells ends of windows apart, and is 0 if nobody asked. Unjudged means that the
	// run ended there, as one before had ended its window alike.
	End      uint64 `json:"end,omitempty"`
	Unjudged bool   `json:"unjudged,omitempty"`
}

// explored packs what a run was like.
func (w *worker) explored(run *scenario.Run) *Explored {
	if run.Result.Explored == nil {
		return nil
	}
	e := w.packed(run.Result.Explored)
	if w.job.Choices {
		// A run without a truth has no history to write, and is inconclusive anyway.
		e.History, _ = historyHash(run.History)
	}
	return e
}

// packed is what a run was like until its window closed.
func (w *worker) packed(from *sim.Explored) *Explored {
	e := &Explored{Truncated: from.Truncated, Shape: from.Shape, State: from.State, Steps: from.Steps, End: w.end}
	if w.job.Choices {
		e.First = min(max(0, w.plain-1), len(from.Choices))
		choices := from.Choices[e.First:]
		e.Choices = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(choices))), uintptr(len(choices))*unsafe.Sizeof(sim.Choice{}))
	}
	return e
}

// Unpack returns what the run was like.
func (e *Explored) Unpack() sim.Explored {
	choices := make([]sim.Choice, uintptr(len(e.Choices))/unsafe.Sizeof(sim.Choice{}))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(choices))), len(e.Choices)), e.Choices)
	return sim.Explored{Choices: choices, First: e.First, Truncated: e.Truncated, Shape: e.Shape, State: e.State, Steps: e.Steps}
}

// historyHash is a hash of everything in a history.
func historyHash(history *model.History) (uint64, error) {
	h := fnv.New64a()
	if err := traces.WriteHistory(h, traces.Header{}, history); err != nil {
		return 0, err
	}
	return h.Sum64(), nil
}
