// Command pingpong sends a number to and fro between two goroutines over
// unbuffered channels and prints the nanoseconds of one round trip. Built with
// the toolchain overlay it does so inside a simulation.
package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// rounds to warm up, of which no account is taken.
const warmUp = 10_000

func main() {
	rounds, err := strconv.Atoi(strings.Join(os.Args[1:], " "))
	if err != nil || rounds < 1 {
		fmt.Fprintf(os.Stderr, "expected one argument, a number of rounds, found %q\n", os.Args[1:])
		os.Exit(2)
	}
	if sim.Available() != nil {
		pingPong(warmUp)
		start := time.Now()
		pingPong(rounds)
		report(time.Since(start), rounds)
		return
	}
	limits := sim.DefaultLimits
	limits.Decisions, limits.Simulated = math.MaxInt64, math.MaxInt64
	var elapsed time.Duration
	// Yields and stalls are those of every run.
	result, err := sim.Run(sim.Config{Source: sim.FromSeed(1), Limits: limits, Schedule: sim.DefaultSchedule}, func(world *sim.World) {
		var start time.Time
		pingPong(warmUp)
		world.Pause(func() { start = time.Now() }) // outside, where the clock is the real one
		pingPong(rounds)
		world.Pause(func() { elapsed = time.Since(start) })
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if result.Stop != sim.Completed {
		fmt.Fprintln(os.Stderr, result.Stop)
		os.Exit(2)
	}
	report(elapsed, rounds)
}

func pingPong(rounds int) {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for i := range ping {
			pong <- i
		}
		close(pong)
	}()
	for i := range rounds {
		ping <- i
		<-pong
	}
	close(ping)
	<-pong
}

func report(elapsed time.Duration, rounds int) {
	fmt.Println(float64(elapsed.Nanoseconds()) / float64(rounds))
}
