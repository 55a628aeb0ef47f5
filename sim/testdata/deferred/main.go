// Program deferred prints the hash of a run that may be held up in functions with deferred
// calls.
package main

import (
	"fmt"
	"os"
	"sync"

	"github.com/watchsim/watchsim/sim"
)

type counter struct {
	mu sync.Mutex
	n  int
}

// add unlocks on two ways out: where deferred calls are compiled into a function, each has its own.
func (c *counter) add(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n%2 == 0 {
		return c.n
	}
	c.n += n
	return c.n
}

func send(to chan<- int, n int) {
	defer close(to)
	to <- n
}

func main() {
	config := sim.Config{Source: sim.FromSeed(1), Schedule: sim.Schedule{FocusOneIn: 1}}
	result, err := sim.Run(config, func(*sim.World) {
		var c counter
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for n := range 40 {
					to := make(chan int, 1)
					send(to, c.add(n))
					<-to
				}
			})
		}
		wg.Wait()
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(result.Hash, result.Stalls)
}
