//go:build !race

package isolate

// Raced reports whether the race detector is part of this binary. If so, no process can be copied.
const Raced = false

// Races is how many data races the detector has found in this process.
func Races() int { return 0 }
