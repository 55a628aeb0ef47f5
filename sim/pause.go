package sim

import (
	"time"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Pause stops the world where the calling goroutine is, with every goroutine as it is,
// calls outside, and goes on. outside runs on a goroutine of no simulation: nothing that
// it does shows in the run. It may look, copy the process ([fork.Now]), and say how the
// run is to go on ([World.Begin], [World.Follow], [World.PauseAt]).
func (w *World) Pause(outside func()) {
	w.outside = outside
	kernel.AskPause()
}

// Mark is where a run pauses.
type Mark struct {
	// Decision pauses it when the scheduler is next asked after that many decisions of
	// the run; 0 for never.
	Decision uint64 `json:"decision,omitempty"`
	// Instant pauses it before the clock goes beyond it, since the world began; 0 for
	// never.
	Instant time.Duration `json:"instant,omitempty"`
}

// PauseAt says where the run pauses next, and what is called there. It takes the place
// of what was said before, and is for whoever is called in a pause.
func (w *World) PauseAt(mark Mark, outside func()) {
	w.outside = outside
	kernel.PauseNext(mark.Decision, int64(mark.Instant))
}

// paused is called by the kernel.
func (w *World) paused() {
	if outside := w.outside; outside != nil {
		outside()
	}
}

// Begin has the run begin here, in a pause: what has happened so far is the same for
// every run, and what follows is a function of this configuration. Decisions and
// everything else are counted from here on; the hash is of everything.
func (w *World) Begin(config Config) {
	params := w.follow(config)
	w.network.Follow(w.networkConfig())
	kernel.Resume(params, true)
}

// Follow has the decisions from here on come from another source, in a pause. The random
// streams stay those of the run, and so does what the code draws; the tape that is
// recorded goes on.
func (w *World) Follow(source Source) {
	var params kernel.Params
	source.load(&params)
	kernel.Follow(&params)
	w.followed = source // the kernel reads its tape
}

// Progress is how far a run has come.
type Progress struct {
	// Now is the simulated time since the world began.
	Now time.Duration
	// Decisions counts those of the run, and Hash is the running hash.
	Decisions, Hash uint64
}

// Progress tells how far the run has come. It is for whoever is called in a pause.
func (w *World) Progress() Progress {
	var counters kernel.Counters
	kernel.Now(&counters)
	return Progress{time.Duration(counters.Now), counters.Decisions, counters.Hash}
}
