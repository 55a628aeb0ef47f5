package rig

import (
	"fmt"
	"sync"
)

// Variants runs all variants of a program at once. Those that should not show the bug are controls, without which nothing is reproduced. It ends the process with
// the verdict on the others.
func Variants[V any](what string, all []V, run func(V) (name string, shows, seen bool)) {
	var running sync.WaitGroup
	names, shows, seen := make([]string, len(all)), make([]bool, len(all)), make([]bool, len(all))
	for i, v := range all {
		running.Go(func() { names[i], shows[i], seen[i] = run(v) })
	}
	running.Wait()
	count, rounds := 0, 0
	for i := range all {
		if seen[i] && !shows[i] {
			Must(fmt.Errorf("a control, %s, shows the bug", names[i]))
		}
		if shows[i] {
			rounds++
		}
		if seen[i] {
			count++
		}
	}
	Verdict(count, rounds, what)
}

// Count runs rounds one after the other, and counts those in which the bug is seen.
func Count(rounds int, round func(i int) (seen bool)) (count int) {
	for i := range rounds {
		if round(i) {
			count++
		}
	}
	return count
}
