package main

import (
	"slices"

	"github.com/watchsim/watchsim/search/mutant"
)

// own stands for the runs that a mutant names.
const own = "own"

// everywhere are the flags of the runs in which every mutant is hunted, unless --in says
// otherwise: a scenario that was made for one bug says nothing of the next one. Short hunts
// are in the runs that a mutant names, where its bug shows soonest.
var everywhere = []string{"--scenario", "any"}

// elsewhere has each mutant hunted in other runs than its own, if it is to be. A mutant with
// other flags has results of its own, as keyOf tells them apart.
func elsewhere(chosen []mutant.Mutant, o options) []mutant.Mutant {
	in := o.in
	if len(in) == 0 {
		if o.short {
			return chosen
		}
		in = [][]string{everywhere}
	}
	var moved []mutant.Mutant
	for _, m := range chosen {
		for _, flags := range in {
			there := m
			if !slices.Equal(flags, []string{own}) {
				there.Hunt = flags
			}
			moved = append(moved, there)
		}
	}
	return moved
}

// comparing reports whether hunts are compared with each other, which leaves the track
// record alone.
func (o options) comparing() bool { return o.compare || len(o.in) > 0 }

// strategies are those that are compared: all, or for other runs alone the first, which
// is what simrun does.
func (o options) strategies() []strategy {
	if o.compare {
		return strategies
	}
	return strategies[:1]
}
