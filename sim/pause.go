package sim

import (
	"time"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Pause pauses the world at the calling goroutine, calls outside, and continues. outside
// runs on a goroutine that does not belong to the simulation, so nothing that it does
// affects the run. It may inspect the world, fork the process ([fork.Now]), and determine
// how the run continues ([World.Begin], [World.Follow], [World.PauseAt]).
func (w *World) Pause(outside func()) {
	w.outside = outside
	kernel.Runtime().AskPause()
}

// Mark is where a run pauses.
type Mark struct {
	// Decision pauses the run at the first scheduling after that many decisions; 0 for
	// never.
	Decision uint64 `json:"decision,omitempty"`
	// Instant pauses the run before the clock passes it, since the world began; 0 for
	// never.
	Instant time.Duration `json:"instant,omitempty"`
}

// PauseAt sets where the run pauses next, and what is called there, and replaces the
// previous setting. It may be called only in a pause.
func (w *World) PauseAt(mark Mark, outside func()) {
	w.outside = outside
	kernel.Runtime().PauseNext(mark.Decision, int64(mark.Instant))
}

// paused is called by the kernel.
func (w *World) paused() {
	if outside := w.outside; outside != nil {
		outside()
	}
}

// Begin starts the run here, in a pause: everything so far is the same for every run, and
// what follows is a function of this configuration. Counters start here; the hash covers
// everything.
func (w *World) Begin(config Config) {
	w.calm = false
	params := w.follow(config)
	w.network.Follow(w.networkConfig())
	kernel.Runtime().Resume(params, true)
}

// Follow takes the decisions from here on from another source, in a pause. The random
// streams of the run and of the code stay the same, and the recording of the tape
// continues.
func (w *World) Follow(source Source) {
	var params kernel.Params
	source.load(&params)
	kernel.Runtime().Follow(&params)
	w.followed = source // the kernel reads its tape
}

// Progress is how far a run has come.
type Progress struct {
	// Now is the simulated time since the world began.
	Now time.Duration
	// Decisions counts those of the run, and Hash is the running hash.
	Decisions, Hash uint64
}

// Progress reports how far the run has come. It may be called only in a pause.
func (w *World) Progress() Progress {
	counters := kernel.Now()
	return Progress{time.Duration(counters.Now), counters.Decisions, counters.Hash}
}
