package swarm

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim"
)

// ended is how the window of a run ended: its last state, its shape, and what tells ends
// apart.
type ended struct{ state, shape, end uint64 }

// known is a state that a run came through which deviated no more, by a key that is not
// 0, and how that run ended, by number. The end of a run that was judged is such a key, too.
type known struct{ key, run uint64 }

// ends are what a worker knows of runs so far, in memory that it shares with its copies: a
// table of states in which one lies at or behind where its key says, and a list of runs.
// The first state counts the others, and the runs.
type ends struct {
	states []known
	runs   []ended
}

// statesMax and runsMax are how many are kept at most. What lies beyond is always new.
const statesMax, runsMax = 3 << 20, 1 << 20

func newEnds() (e ends, err error) {
	const states, size = statesMax / 3 * 4 * unsafe.Sizeof(known{}), runsMax * unsafe.Sizeof(ended{})
	memory, err := unix.MmapPtr(-1, 0, nil, states+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return e, fmt.Errorf("cannot make room for %d states: %w", statesMax, err)
	}
	// Copies look in many places. Where there are no huge pages it only takes longer.
	_ = unix.Madvise(unsafe.Slice((*byte)(memory), states), unix.MADV_HUGEPAGE)
	e.states = unsafe.Slice((*known)(memory), states/unsafe.Sizeof(known{}))
	e.runs = unsafe.Slice((*ended)(unsafe.Add(memory, states)), runsMax)
	return e, nil
}

// at is the entry of a key, or a free one in its place.
func (e ends) at(key uint64) *known {
	for i := key; ; i++ {
		if one := &e.states[1+i%uint64(len(e.states)-1)]; one.key == key || one.key == 0 {
			return one
		}
	}
}

// add adds a run that ended like this, and returns its number.
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

// through adds the states of decisions.
func (e ends) through(choices []sim.Choice, run uint64) {
	for _, choice := range choices {
		e.reach(sim.KeyOf(choice, 0), run)
	}
}

// endOf tells how windows end. Those of one shape end alike: what happened in them happened
// before the same, and at other instants at most, which the quiet phase makes up for. A
// goroutine that is still held up will do something that the shape does not know of, so
// that there the instants count, too.
func endOf(world *sim.World) (end uint64, explored *sim.Explored) {
	explored = world.Explored()
	end = explored.Shape
	if world.HeldUp() {
		end ^= explored.State*0x9fb21c651e98df25 + 1
	}
	return max(end, 1), explored
}

// closed is called where the window of a run that explores has closed. The run ends here
// if it would be judged once more.
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

// known is called after a decision of a copy that deviates no more. What happens from a
// state on, whoever came through it has shown.
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
