package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// thing is large enough for the collector to hand its memory out again soon.
type thing struct {
	name string
	_    [1000]byte
}

// orders repeatedly fills maps with pointers, as objects come and go, and returns the orders in
// which they were iterated.
func orders(t *testing.T, heap uint64) (string, uint64) {
	order, result := isolate.Value(t, sim.Config{Source: sim.FromSeed(1), Limits: sim.Limits{HeapBytes: heap}}, func(*sim.World) string {
		var b strings.Builder
		for round := range 20 {
			all := map[*thing]bool{}
			for i := range 100 {
				all[&thing{name: fmt.Sprint(round, "-", i)}] = true
			}
			for one := range all {
				fmt.Fprintln(&b, one.name)
			}
			time.Sleep(time.Second) // here garbage is collected
		}
		return b.String()
	})
	return order, result.Hash
}

// When garbage is collected depends on the size of the heap, and later allocations may reuse other
// addresses.
func TestACollectionLeavesNoTrace(t *testing.T) {
	never, hash := orders(t, 1<<40)
	always, collected := orders(t, 1<<10)
	require.Equal(t, never, always)
	require.Equal(t, hash, collected)
}
