package main

import (
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/search/mutant"
)

// own stands for the runs that a mutant names.
const own = "own"

// elsewhere has each mutant hunted in other runs than its own. A mutant with other
// flags has results of its own, as keyOf tells them apart.
func elsewhere(chosen []mutant.Mutant, in [][]string) ([]mutant.Mutant, error) {
	if len(in) == 0 {
		return chosen, nil
	}
	var moved []mutant.Mutant
	for _, m := range chosen {
		for _, flags := range in {
			there := m
			if !slices.Equal(flags, []string{own}) {
				there.Hunt = flags
			}
			if _, err := specOf(there); err != nil {
				return nil, fmt.Errorf("--in: %w", err)
			}
			moved = append(moved, there)
		}
	}
	return moved, nil
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
