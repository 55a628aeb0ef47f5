package decisive

// choice is a decision on a tape that is not the plain one.
type choice struct {
	number   uint64 // of the decision, from 1
	from, to int    // its bytes
}

// escape begins a choice of four bytes more, as sim.FromTape says.
const escape = 255

// chosen are the choices on a tape that are not the plain one.
func chosen(tape []byte) []choice {
	var choices []choice
	number := uint64(0)
	for from := 0; from < len(tape); number++ {
		to := from + 1
		if tape[from] == escape {
			to = min(from+5, len(tape))
		}
		if tape[from] != 0 {
			choices = append(choices, choice{number + 1, from, to})
		}
		from = to
	}
	return choices
}

// without is a tape with the plain choice in the place of another.
func without(tape []byte, c choice) []byte {
	changed := append([]byte{}, tape[:c.from]...)
	changed = append(changed, 0)
	return append(changed, tape[c.to:]...)
}
