package swarm

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

// ended says how the window of a run ended: its last state, its shape, and a key that is
// equal for equivalent ends.
type ended struct{ state, shape, end uint64 }

// known maps a state that a run reached after its last deviation, as a key other than 0, to
// the number of that run. The ends of runs that were checked are keys, too.
type known struct{ key, run uint64 }

// ends records all runs of a worker so far, in memory that it shares with its copies: a
// hash table of states with linear probing, and a list of runs. The first entry of the
// table counts the states and the runs.
type ends struct {
	states []known
	runs   []ended
}

// statesMax and runsMax bound what is recorded. States beyond them always count as new.
const statesMax, runsMax = 3 << 20, 1 << 20

func newEnds() (e ends, err error) {
	const states, size = statesMax / 3 * 4 * unsafe.Sizeof(known{}), runsMax * unsafe.Sizeof(ended{})
	memory, err := unix.MmapPtr(-1, 0, nil, states+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return e, fmt.Errorf("cannot make room for %d states: %w", statesMax, err)
	}
	// Lookups are scattered. Without huge pages they are only slower.
	_ = unix.Madvise(unsafe.Slice((*byte)(memory), states), unix.MADV_HUGEPAGE)
	e.states = unsafe.Slice((*known)(memory), states/unsafe.Sizeof(known{}))
	e.runs = unsafe.Slice((*ended)(unsafe.Add(memory, states)), runsMax)
	return e, nil
}

// at returns the entry of a key, or the free entry where it belongs.
func (e ends) at(key uint64) *known {
	for i := key; ; i++ {
		if one := &e.states[1+i%uint64(len(e.states)-1)]; one.key == key || one.key == 0 {
			return one
		}
	}
}

// add records how a run ended and returns the number of the run.
func (e ends) add(one ended) uint64 {
	count := &e.states[0].run
	if *count < runsMax {
		e.runs[*count] = one
		*count++
	}
	return *count - 1
}

// reach adds a key and reports whether it was new.
func (e ends) reach(key, run uint64) (isNew bool) {
	at, count := e.at(key), &e.states[0].key
	isNew = at.key == 0
	if isNew && *count < statesMax && e.states[0].run < runsMax {
		*at = known{key, run}
		*count++
	}
	return isNew
}

// through adds the states at which decisions were made.
func (e ends) through(choices []sim.Choice, run uint64) {
	for _, choice := range choices {
		e.reach(sim.KeyOf(choice, 0), run)
	}
}

// endOf returns the key of a window's end. Windows of one shape end alike: they differ only
// in when things happened, which the quiet phase makes up for. If a goroutine is still
// delayed, it has yet to do something that is not part of the shape, so the state, which
// includes the times, is part of the key.
func endOf(world *sim.World) (end uint64, explored *sim.Explored) {
	explored = world.Explored()
	end = explored.Shape
	if world.HeldUp() {
		end ^= explored.State*0x9fb21c651e98df25 + 1
	}
	return max(end, 1), explored
}

// closed is called when the window of an exploring run has closed. The run ends here if an
// equivalent one has been checked.
func (w *worker) closed(world *sim.World) {
	if w.copy == nil {
		return
	}
	end, explored := endOf(world)
	w.end = end
	run := w.ends.add(ended{explored.State, explored.Shape, end})
	w.ends.through(explored.Choices[min(w.plain, len(explored.Choices)):], run)
	if !w.ends.reach(end, run) && !w.whole {
		w.leave(explored)
	}
}

// known is called after each decision of a copy that has made its last deviation. If an
// earlier run reached the same state, this run would end like that one.
func (w *worker) known(world *sim.World) {
	explored := world.Explored()
	last := len(explored.Choices) - 1
	state := w.ends.at(sim.KeyOf(explored.Choices[last], 0))
	if state.key == 0 {
		return
	}
	before := w.ends.runs[state.run]
	explored.State, explored.Shape, w.end = before.state, before.shape, before.end
	w.ends.through(explored.Choices[w.plain:last], state.run)
	w.leave(explored)
}

// leave ends the run without a verdict.
func (w *worker) leave(explored *sim.Explored) {
	packed := w.packed(explored)
	packed.Unjudged = true
	if err := w.reply(Answer{Explored: packed}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnlimited)
	}
}

// Death is how a run ended its process. It is wrapped in an ErrDied.
type Death struct {
	Cause fork.Cause
	// Text says it in words. If the run panicked, the stacks follow.
	Text string
}

func (d *Death) Error() string { return d.Text }

// died wraps a death in what it means for a run.
func died(meaning error, seed uint64, cause fork.Cause, text string) error {
	return fmt.Errorf("%w: seed %d: %w", meaning, seed, &Death{cause, text})
}

// unfinished returns the violation of a run that ended its process.
func unfinished(err error) scenario.Violation {
	death := &Death{Cause: fork.Exited}
	errors.As(err, &death)
	return scenario.Unfinished(string(death.Cause), err.Error(), scenario.Innermost(death.Text))
}
