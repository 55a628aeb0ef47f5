package sim

import "math/rand/v2"

// Stream returns the random stream of a name, derived from a seed. Every consumer has its
// own name, so that a change in one does not alter what the others draw.
func Stream(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewPCG(streamSeed(seed, name), streamSeed(seed, name+"/2")))
}
