package swarm

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim"
)

// ends are those of windows that have been reached, in memory that a worker shares with
// its copies: a table in which an entry lies at or behind where its value says, and 0 is
// none.
type ends []uint64

// endsMax is how many are kept at most. Beyond that every run is judged.
const endsMax = 1 << 20

func newEnds() (ends, error) {
	const size = 2 * endsMax * 8
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("cannot make room for %d ends of windows: %w", endsMax, err)
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(memory))), size/8), nil
}

// add adds an end, which is not 0, and reports whether it was new. The first entry counts
// the others.
func (e ends) add(end uint64) (isNew bool) {
	for i := end; ; i++ {
		slot := &e[1+i%uint64(len(e)-1)]
		switch {
		case *slot == end:
			return false
		case *slot != 0:
		case e[0] == endsMax:
			return true
		default:
			*slot = end
			e[0]++
			return true
		}
	}
}

// endOf tells how windows end. Those of one shape end alike: what happened in them happened
// before the same, and at other instants at most, which the quiet phase makes up for. A
// goroutine that is still held up will do something that the shape does not know of, so
// that there the instants count, too.
func endOf(world *sim.World) (uint64, *sim.Explored) {
	explored := world.Explored()
	end := explored.Shape
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
	if w.ends.add(end) || w.whole {
		return
	}
	packed, err := w.packed(explored)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnlimited)
	}
	packed.Unjudged = true
	_ = w.reply(Answer{Explored: packed})
}
