package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/search/mutant"
)

// testedTogether hunts mutants with all of them switched on, because most seeds show none, and a seed of the control plane
// takes long. When a seed fails, it switches mutants off while the seed keeps failing. A single remaining mutant is found, and
// the hunt continues with the others. Several remain if the effects of one make another one show; they are reported for manual
// analysis. Each trial of a mutant ends with the seed that found it, or when time runs out: the --time of one mutant, for each
// of them.
func (h *hunter) testedTogether(ctx context.Context, binary, test string, chosen []mutant.Mutant) error {
	left := slices.DeleteFunc(slices.Clone(chosen), func(m mutant.Mutant) bool { return len(h.trials(m)) > 0 })
	all, seconds, last := len(left), 0.0, uint64(h.options.seeds)
	budget := h.options.time.Seconds() * float64(all)
	next := uint64(1)
	end := func(m mutant.Mutant, found, seeds uint64, witness string) error {
		r := result{Mutant: m.Name, Key: keyOf(m), Trial: 1, First: 1, Budget: h.options.seeds, Together: all, Seeds: int(seeds), Found: found, Witness: witness, Seconds: seconds}
		left = slices.DeleteFunc(left, func(other mutant.Mutant) bool { return other.Name == m.Name })
		return h.note(m, r)
	}
	run := func(some []mutant.Mutant, first, last uint64) (testedOutcome, error) {
		ran, err := h.testedRun(ctx, binary, test, strings.Join(namesOf(some), ","), first, last, h.options.time)
		seconds += ran.seconds
		return ran, err
	}
	for len(left) > 0 && next <= last && seconds < budget {
		ran, err := run(left, next, last)
		if err != nil {
			return err
		}
		if ran.failed == 0 {
			next += uint64(ran.seeds)
			continue
		}
		next = ran.failed
		without, err := run(nil, next, next)
		if err != nil {
			return err
		}
		if without.failed != 0 {
			fmt.Fprintf(h.stdout, "seed %d fails without any: %s\n", next, without.witness)
			next++
			continue
		}
		need, witness, err := needed(left, ran, func(some []mutant.Mutant) (testedOutcome, error) { return run(some, next, next) })
		if err != nil {
			return err
		}
		if len(need) > 1 {
			fmt.Fprintf(h.stdout, "seed %d fails with %s, and not with fewer of them: %s\n", next, strings.Join(namesOf(need), ","), witness)
			next++
			continue
		}
		if err := end(need[0], next, next, witness); err != nil {
			return err
		}
	}
	for len(left) > 0 {
		if err := end(left[0], 0, next-1, ""); err != nil {
			return err
		}
	}
	return nil
}

// needed returns mutants with which a failing run still fails, while it passes without any single one of them, and what that
// run says. It leaves out as many at once as it can.
func needed(some []mutant.Mutant, ran testedOutcome, run func([]mutant.Mutant) (testedOutcome, error)) (_ []mutant.Mutant, witness string, err error) {
	some = faults.Minimise(some, faults.EveryItem, func(candidates [][]mutant.Mutant) int {
		return slices.IndexFunc(candidates, func(fewer []mutant.Mutant) bool {
			if len(fewer) == 0 || err != nil {
				return false // it passes without any
			}
			var again testedOutcome
			if again, err = run(fewer); err == nil && again.failed != 0 {
				ran = again
				return true
			}
			return false
		})
	})
	return some, ran.witness, err
}

// namesOf returns the mutants' names as mutant.Variable takes them, to be joined with commas.
func namesOf(some []mutant.Mutant) []string {
	names := make([]string, len(some))
	for i, m := range some {
		names[i] = m.Name
	}
	return names
}
