package sim

import "math/rand/v2"

// Stream returns the random numbers that a seed holds under a name. Every
// consumer has a name of its own, so that a change in one does not reshuffle
// what the others draw.
func Stream(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewPCG(streamSeeds(seed, name)))
}

func streamSeeds(seed uint64, name string) (one, other uint64) {
	return streamSeed(seed, name), streamSeed(seed, name+"/2")
}

// stream is a random stream of a world, which somebody draws from.
type stream struct {
	name   string
	source *rand.PCG
}
