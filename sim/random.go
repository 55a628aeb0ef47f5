package sim

import "math/rand/v2"

// Stream returns the random numbers that a seed holds under a name. Every
// consumer has a name of its own, so that a change in one does not reshuffle
// what the others draw.
func Stream(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewPCG(streamSeed(seed, name), streamSeed(seed, name+"/2")))
}
