package main

import (
	"context"
	"fmt"
	"maps"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// testedEffects runs seeds without any mutant and with each alone, and prints how many of them a mutant makes other runs. A
// mutant that changes no run is not found, whatever is judged: what it needs does not happen. It returns the names of these.
func (h *hunter) testedEffects(ctx context.Context, binary string, t *selfbuild.Tested, chosen []mutant.Mutant) (without []string, err error) {
	known := map[string]map[uint64]string{}
	for _, m := range chosen {
		test := t.Test(m)
		if known[test] == nil {
			if known[test], err = h.testedHashes(ctx, binary, test, ""); err != nil {
				return nil, err
			}
		}
		hashes, err := h.testedHashes(ctx, binary, test, m.Name)
		if err != nil {
			return nil, err
		}
		changed := changedSeeds(known[test], hashes)
		fmt.Fprintf(h.stdout, "%-16s changes %d of %d runs of %s\n", m.Name, changed, h.options.probe, test)
		if changed == 0 {
			without = append(without, m.Name+" changes no run")
		}
	}
	return without, nil
}

// changedSeeds counts the seeds of two maps whose hashes differ, and those that only one has, because no cluster boots in the other.
func changedSeeds(one, other map[uint64]string) (changed int) {
	all := maps.Clone(one)
	maps.Copy(all, other)
	for seed := range all {
		if one[seed] != other[seed] {
			changed++
		}
	}
	return changed
}

// testedHashes returns the hashes of the first seeds, failed or not, with a mutant or none.
func (h *hunter) testedHashes(ctx context.Context, binary, test, name string) (map[uint64]string, error) {
	hashes, last := map[uint64]string{}, uint64(h.options.probe)
	for next := uint64(1); next <= last; {
		ran, err := h.testedRun(ctx, binary, test, name, next, last, 0)
		if err != nil {
			return nil, err
		}
		maps.Copy(hashes, ran.hashes)
		if ran.failed == 0 {
			break
		}
		next = ran.failed + 1
	}
	return hashes, nil
}
