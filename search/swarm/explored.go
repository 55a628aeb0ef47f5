package swarm

import (
	"hash/fnv"
	"unsafe"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces"
)

// Explored describes an exploring run, as a worker sends it.
type Explored struct {
	sim.Explored
	// Choices hide those of the embedded description: they are the decisions in their memory layout, if
	// the job asked for them, from the one on at which the copy began.
	Choices []byte `json:",omitempty"`
	// History is a hash of what the clients saw and when; 0 if that is not known.
	History uint64 `json:"history"`
	// End is the key of the window's end, 0 if the job did not ask for it. Unjudged means
	// that the run ended there, because an earlier one had an equivalent window.
	End      uint64 `json:"end,omitempty"`
	Unjudged bool   `json:"unjudged,omitempty"`
}

// explored packs the description of a run.
func (w *worker) explored(run *scenario.Run) *Explored {
	if run.Result.Explored == nil {
		return nil
	}
	e := w.packed(run.Result.Explored)
	if w.job.Choices {
		// A run without known commits of etcd has no history, and is inconclusive anyway.
		if h := fnv.New64a(); traces.WriteHistory(h, traces.Header{}, run.History) == nil {
			e.History = h.Sum64()
		}
	}
	return e
}

// packed packs the description of a run up to the end of its window.
func (w *worker) packed(from *sim.Explored) *Explored {
	e := &Explored{Explored: *from, End: w.end}
	e.Explored.Choices = nil
	if w.job.Choices {
		e.First = min(max(0, w.plain-1), len(from.Choices))
		choices := from.Choices[e.First:]
		e.Choices = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(choices))), uintptr(len(choices))*unsafe.Sizeof(sim.Choice{}))
	}
	return e
}

// Unpack returns the description of the run.
func (e *Explored) Unpack() sim.Explored {
	unpacked := e.Explored
	unpacked.Choices = make([]sim.Choice, uintptr(len(e.Choices))/unsafe.Sizeof(sim.Choice{}))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(unpacked.Choices))), len(e.Choices)), e.Choices)
	return unpacked
}
