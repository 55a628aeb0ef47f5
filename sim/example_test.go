package sim_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

// race has two goroutines race for a channel.
func race(world *sim.World) string {
	won := make(chan string, 2)
	for _, name := range []string{"a", "b"} {
		go func() {
			time.Sleep(time.Minute) // which takes no real time
			won <- name
		}()
	}
	return fmt.Sprintf("%s is first, after %v", <-won, world.Now())
}

// A process simulates once, so each seed runs in a copy of it.
func ExampleRun() {
	var lines []string // printed at the end: a copy, too, reads what was printed before it was made and nobody has read yet
	for seed := range uint64(4) {
		made, err := fork.Now(fork.DefaultLimits)
		if err != nil {
			fmt.Println(err)
			return
		}
		if made.Inside() {
			var said string
			result, err := sim.Run(sim.Config{Source: sim.FromSeed(seed)}, func(world *sim.World) { said = race(world) })
			if err != nil || result.Stop != sim.Completed {
				fmt.Fprintln(os.Stderr, result, err)
				os.Exit(1)
			}
			made.Leave([]byte(said))
		}
		ended, err := made.Wait(nil)
		if err != nil || !ended.Well() {
			fmt.Println(ended.Why(), err)
			return
		}
		lines = append(lines, fmt.Sprintf("seed %d: %s", seed, ended.Answer))
	}
	fmt.Println(strings.Join(lines, "\n"))
	// Output:
	// seed 0: b is first, after 1m0s
	// seed 1: a is first, after 1m0s
	// seed 2: a is first, after 1m0s
	// seed 3: b is first, after 1m0s
}
