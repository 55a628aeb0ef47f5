package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// TestWhatIsAsideShowsInNobodyElse has one goroutine draw random numbers of every kind while others
// are aside, as loggers are: in some runs of a seed and not in others.
func TestWhatIsAsideShowsInNobodyElse(t *testing.T) {
	run := func(meanwhile int) (drawn string, result *sim.Result) {
		return isolate.Value(t, sim.Config{Source: sim.FromSeed(7), Schedule: sim.DefaultSchedule}, func(*sim.World) (drawn string) {
			begun, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				close(begun)
				time.Sleep(time.Second)
				numbers, pointers := map[int]bool{}, map[*int]int{}
				for i := range 20 {
					numbers[i], pointers[new(int)] = true, i
				}
				for number := range numbers {
					drawn += fmt.Sprint(" ", number)
				}
				for _, number := range pointers {
					drawn += fmt.Sprint(" ", number)
				}
				ready := make(chan int)
				close(ready)
				for range 20 {
					select {
					case <-ready:
						drawn += " first"
					case <-begun:
						drawn += " second"
					}
				}
			}()
			<-begun
			for i := range meanwhile {
				sim.Aside(func() {
					rand.Uint64()
					pointers := map[*int]int{new(int): i, new(int): i}
					for range pointers {
						select {
						case <-begun:
						default:
						}
					}
				})
			}
			<-done
			return drawn
		})
	}
	want, undisturbed := run(0)
	for meanwhile := 1; meanwhile < 4; meanwhile++ {
		got, disturbed := run(meanwhile)
		require.Equal(t, want, got)
		require.Equal(t, undisturbed.Hash, disturbed.Hash)
	}
}
