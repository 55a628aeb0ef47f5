package sim_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// places are four functions that synchronise, each at a place of its own.
var places = []func(chan int){
	func(c chan int) { c <- 1 },
	func(c chan int) { <-c },
	func(c chan int) { c <- 2 },
	func(c chan int) { <-c },
}

// heldUp visits every place many times and reports where time passed.
func heldUp(t *testing.T, seed uint64, oneIn uint32) ([4]bool, uint64) {
	held, result := isolate.Value(t, sim.Config{Source: sim.FromSeed(seed), Schedule: sim.Schedule{FocusOneIn: oneIn}}, func(*sim.World) (held [4]bool) {
		c := make(chan int, 1)
		for range 40 {
			for i, visit := range places {
				before := time.Now()
				visit(c)
				if time.Since(before) > 0 {
					held[i] = true
				}
			}
		}
		return held
	})
	return held, result.Hash
}

func TestAFocusedRunHoldsGoroutinesUpAtFewPlaces(t *testing.T) {
	var seen [4]int
	all := 0
	for seed := range uint64(60) {
		held, hash := heldUp(t, seed, 4)
		again, same := heldUp(t, seed, 4)
		require.Equal(t, held, again)
		require.Equal(t, hash, same)
		count := 0
		for i, h := range held {
			if h {
				seen[i]++
				count++
			}
		}
		if count == len(held) {
			all++
		}
	}
	for i, n := range seen {
		require.Positive(t, n, "place %d is in focus in some runs", i)
		require.Less(t, n, 60, "place %d is not in focus in others", i)
	}
	require.Less(t, all, 15, "runs with everything in focus")

	held, _ := heldUp(t, 1, 0)
	require.Equal(t, [4]bool{}, held, "nobody is held up without focus")
}

// The race detector, a debugger and the compiler's optimisations compile deferred calls differently,
// and inline calls or not. A seed is still one run.
func TestARunDoesNotFollowFromHowCallsAreCompiled(t *testing.T) {
	var hashes []string
	for _, flags := range []string{"", "-N", "-l", "-N -l"} {
		command := exec.Command("go", "run", "-overlay", "../build/overlay/overlay.json", "-tags", "watchsim", "-gcflags", flags, "./testdata/deferred")
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := command.Output()
		require.NoError(t, err)
		hashes = append(hashes, string(out))
	}
	require.NotContains(t, hashes[0], " 0\n", "expected goroutines to be held up")
	for _, hash := range hashes {
		require.Equal(t, hashes[0], hash, "%v", hashes)
	}
}
