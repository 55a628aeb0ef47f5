package sim

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"unsafe"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Source makes the decisions of a run: a seed generates them, possibly with another seed for the
// schedule, a tape repeats them, and a plan of priorities (explore.go) makes them during the run;
// searches and shrinkers write tapes of their own.
type Source interface {
	// Seed is the seed that every named random stream is derived from.
	Seed() uint64

	// load writes the source into the parameters of a run.
	load(*kernel.Params)
}

// FromSeed returns the source whose decisions are a function of one number.
func FromSeed(seed uint64) Source { return seeded(seed) }

type seeded uint64

func (s seeded) Seed() uint64 { return uint64(s) }

func (s seeded) load(p *kernel.Params) {
	p.SchedSeed = streamSeed(uint64(s), "schedule")
	p.CodeSeed = streamSeed(uint64(s), "code")
}

// FromSchedule is like FromSeed with the schedule of another seed: what the code and the clients
// draw stays the same, but goroutines run in another order.
func FromSchedule(seed, schedule uint64) Source { return rescheduled{seeded(seed), schedule} }

type rescheduled struct {
	seeded
	schedule uint64
}

func (r rescheduled) load(p *kernel.Params) {
	r.seeded.load(p)
	p.SchedSeed = streamSeed(r.schedule, "schedule")
}

// FromTape returns the source that repeats recorded decisions: one byte each, or 255 and
// four bytes, least significant first, for a choice of 255 or more. The random streams are
// still derived from the seed. Where the tape ends or names an alternative that does not
// exist, the run continues with the default choice, and Result.Diverged says so.
func FromTape(seed uint64, tape []byte) Source { return taped{seeded(seed), tape} }

type taped struct {
	seeded
	tape []byte
}

func (t taped) load(p *kernel.Params) {
	t.seeded.load(p)
	tape := t.tape
	if len(tape) == 0 {
		tape = []byte{0}
	}
	p.Replay = unsafe.Pointer(unsafe.SliceData(tape))
	p.ReplayLen = len(t.tape)
}

// FromOpenTape is like FromTape for a tape without the default choices at its end: they follow its
// end, however long the run is.
func FromOpenTape(seed uint64, tape []byte) Source { return opened{seeded(seed), tape} }

type opened struct {
	seeded
	tape []byte
}

// openBytes is more than the number of choices of any run.
const openBytes = 1 << 30

// openMemory holds an open tape and the zeros after it; openUsed is how much of it is not zero.
var (
	openMemory scratch
	openUsed   int
)

func (o opened) load(p *kernel.Params) {
	memory := openMemory.reserve(openBytes)
	clear(memory[:openUsed])
	openUsed = copy(memory, o.tape)
	o.seeded.load(p)
	p.Replay, p.ReplayLen = unsafe.Pointer(unsafe.SliceData(memory)), len(memory)
}

// AppendChoice adds a choice to a tape.
func AppendChoice(tape []byte, chosen uint32) []byte {
	if chosen < 255 {
		return append(tape, byte(chosen))
	}
	return binary.LittleEndian.AppendUint32(append(tape, 255), chosen)
}

// Remaining returns the rest of a tape after that many choices.
func Remaining(tape []byte, choices uint64) []byte {
	for ; choices > 0 && len(tape) > 0; choices-- {
		length := 1
		if tape[0] == 255 {
			length = 5
		}
		tape = tape[min(length, len(tape)):]
	}
	return tape
}

// Trimmed returns a tape without the default choices at its end.
func Trimmed(tape []byte) []byte { return bytes.TrimRight(tape, "\x00") }

// streamSeed derives the seed of a named random stream, so that a new stream does not
// change the others.
func streamSeed(seed uint64, name string) uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	h.Write([]byte(name))
	// FNV alone leaves neighbouring seeds alike in their upper bits.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
