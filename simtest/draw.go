package simtest

import (
	endian "encoding/binary"
	"fmt"

	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/sim"
)

// maxWords is how many numbers of 64 bits rapid gets for one call of [Draw]. A run in which a
// generator wants more is skipped.
const maxWords = 1 << 10

// Draw returns a value of one of rapid's generators, such as the objects that a test creates
// or the list of what it does to them. The value follows from the seed and the label, and the
// report of a failure has it. Once a failure has no fault that it does not need, simpler
// values are tried, as rapid does.
func Draw[V any](t *T, from *rapid.Generator[V], label string) (value V) {
	t.Helper()
	name := t.drawn.name(label)
	words := t.drawn.words(name, t.Seed)
	input := make([]byte, 0, 8*len(words))
	for _, word := range words {
		input = endian.LittleEndian.AppendUint64(input, word)
	}
	done := false
	defer func() {
		if !done {
			// rapid has ended this goroutine and said so to a test that nobody reads.
			t.Skipf("no value of %s could be drawn from %d words", name, len(words))
		}
	}()
	rapid.MakeFuzz(func(draw *rapid.T) { value = from.Draw(draw, label) })(t.outside, input)
	done = true
	t.Logf("drawn %s: %+v", name, value)
	return value
}

// drawn is what the values of a run are drawn from.
type drawn struct {
	given  map[string][]uint64 // instead of what the seed has
	used   map[string][]uint64
	labels map[string]int
}

func newDrawn(given map[string][]uint64) drawn {
	return drawn{given: given, used: map[string][]uint64{}, labels: map[string]int{}}
}

// name tells the values of one label apart.
func (d *drawn) name(label string) string {
	d.labels[label]++
	if number := d.labels[label]; number > 1 {
		label = fmt.Sprintf("%s (%d)", label, number)
	}
	return label
}

// words returns the random numbers for a value.
func (d *drawn) words(name string, seed uint64) []uint64 {
	words, given := d.given[name]
	if !given {
		random := sim.Stream(seed, "drawn "+name)
		words = make([]uint64, maxWords)
		for i := range words {
			words[i] = random.Uint64()
		}
	}
	d.used[name] = words
	return words
}
