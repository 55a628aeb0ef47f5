package decisive

import (
	"bytes"
	"encoding/binary"

	"github.com/watchsim/watchsim/sim"
)

// choice is a deviation on a tape.
type choice struct {
	number   uint64 // of the decision, from 1
	from, to int    // its bytes
}

// escape begins a choice of four more bytes; see sim.FromTape.
const escape = 255

// plain is a tape of one default decision: an empty tape would leave the decisions to the seed.
var plain = []byte{0}

// chosen returns the deviations on a tape.
func chosen(tape []byte) []choice {
	var choices []choice
	number := uint64(0)
	for from := 0; from < len(tape); number++ {
		to := len(tape) - len(sim.Remaining(tape[from:], 1))
		if tape[from] != 0 {
			choices = append(choices, choice{number + 1, from, to})
		}
		from = to
	}
	return choices
}

// value returns the chosen alternative.
func (c choice) value(tape []byte) uint32 {
	if tape[c.from] == escape && c.to-c.from == 5 {
		return binary.LittleEndian.Uint32(tape[c.from+1 : c.to])
	}
	return uint32(tape[c.from])
}

// with returns the tape with another choice in place of this one.
func with(tape []byte, c choice, value uint32) []byte {
	return append(sim.AppendChoice(bytes.Clone(tape[:c.from]), value), tape[c.to:]...)
}

// beginning returns the tape up to the end of the nth deviation; default decisions follow.
func beginning(tape []byte, choices []choice, n int) []byte {
	if n == 0 {
		return plain
	}
	return tape[:choices[n-1].to]
}
