package sim

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"unsafe"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Source makes the decisions of a run: a seed generates them, possibly with another seed for the
// schedule, a tape repeats them, and a plan of priorities (explore.go) makes them during the run;
// searches and shrinkers write tapes of their own.
type Source struct {
	seed, schedule uint64
	// decide sets what else makes the decisions; nil for the seed of the schedule alone.
	decide func(*kernel.Params)
}

// Seed is the seed that every named random stream is derived from.
func (s Source) Seed() uint64 { return s.seed }

// load writes the source into the parameters of a run.
func (s Source) load(p *kernel.Params) {
	p.SchedSeed = streamSeed(s.schedule, "schedule")
	p.CodeSeed = streamSeed(s.seed, "code")
	if s.decide != nil {
		s.decide(p)
	}
}

// FromSeed returns the source whose decisions are a function of one number.
func FromSeed(seed uint64) Source { return FromSchedule(seed, seed) }

// FromSchedule is like FromSeed with the schedule of another seed: what the code and the clients
// draw stays the same, but goroutines run in another order.
func FromSchedule(seed, schedule uint64) Source { return Source{seed: seed, schedule: schedule} }

// FromTape returns the source that repeats recorded decisions: one byte each, or 255 and
// four bytes, least significant first, for a choice of 255 or more. The random streams are
// still derived from the seed. Where the tape ends or names an alternative that does not
// exist, the run continues with the default choice, and Result.Diverged says so.
func FromTape(seed uint64, tape []byte) Source {
	if len(tape) == 0 {
		tape = []byte{} // nil would be no tape
	}
	return Source{seed, seed, func(p *kernel.Params) {
		p.Replay, p.ReplayLen = unsafe.Pointer(unsafe.SliceData(tape)), len(tape)
	}}
}

// FromOpenTape is like FromTape for a tape without the default choices at its end: they follow its
// end, however long the run is.
func FromOpenTape(seed uint64, tape []byte) Source {
	return Source{seed, seed, func(p *kernel.Params) {
		memory := openMemory.reserve(openBytes)
		clear(memory[:openUsed])
		openUsed = copy(memory, tape)
		p.Replay, p.ReplayLen = unsafe.Pointer(unsafe.SliceData(memory)), len(memory)
	}}
}

// openBytes is more than the number of choices of any run.
const openBytes = 1 << 30

// openMemory holds an open tape and the zeros after it; openUsed is how much of it is not zero.
var (
	openMemory scratch
	openUsed   int
)

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

// Stream returns the random stream of a name, derived from a seed. Every consumer has its
// own name, so that a change in one does not alter what the others draw.
func Stream(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewPCG(streamSeed(seed, name), streamSeed(seed, name+"/2")))
}

// streamSeed derives the seed of a named random stream.
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
