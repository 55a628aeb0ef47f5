package main

import (
	"slices"

	"github.com/watchsim/watchsim/search/mutant"
)

// own stands for the runs that a mutant names.
const own = "own"

// everywhere are the flags of the runs in which every mutant is hunted, unless --in says otherwise:
// a scenario made for one bug says nothing about the next one. Short hunts use the runs that a
// mutant names, where its bug shows soonest.
var everywhere = []string{"--scenario", "any"}

// elsewhere makes each mutant be hunted in other runs than its own if the flags say so. A mutant
// with other flags has results of its own, distinguished by keyOf.
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

// comparing reports whether hunts are compared with each other, which does not touch the track
// record.
func (o options) comparing() bool { return o.compare || len(o.in) > 0 }

// strategies returns the strategies to compare: all, or with --in only the first, which is
// simrun's.
func (o options) strategies() []strategy {
	if o.compare {
		return strategies
	}
	return strategies[:1]
}
