package sim_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simtest"
)

// TestWhatIsAsideShowsInNobodyElse has one goroutine wait in the middle of what
// happens once, and others be aside meanwhile, as whoever initialises something or
// writes a log does: more often in some processes than in others.
func TestWhatIsAsideShowsInNobodyElse(t *testing.T) {
	run := func(meanwhile int) (drawn string, result *sim.Result) {
		result = simtest.Run(t, sim.Config{Source: sim.FromSeed(7), Schedule: sim.DefaultSchedule}, func(*sim.World) {
			var once sync.Once
			begun, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				once.Do(func() {
					close(begun)
					drawn = fmt.Sprint(rand.Uint64())
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
				})
			}()
			<-begun
			for range meanwhile {
				sim.Aside(func() { rand.Uint64() })
			}
			<-done
		})
		return drawn, result
	}
	want, undisturbed := run(0)
	for meanwhile := 1; meanwhile < 4; meanwhile++ {
		got, disturbed := run(meanwhile)
		require.Equal(t, want, got)
		require.Equal(t, undisturbed.Hash, disturbed.Hash)
	}
}
