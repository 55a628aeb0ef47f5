package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/watchsim/watchsim/search/mutant"
)

// probeAll runs seeds without a bug, in the runs of each mutant, and prints how often they reached
// the places of its edits. It returns the edits whose places no run reached: such runs cannot show
// their bugs. One worker runs all, and its boot counts as part of the first run.
func (h *hunter) probeAll(ctx context.Context, chosen []mutant.Mutant) (unreached []string, err error) {
	scratch, err := os.MkdirTemp("", "hunt-probes-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	path := filepath.Join(scratch, "counts")
	if h.probes, err = mutant.NewProbes(path, mutant.All()); err != nil {
		return nil, err
	}
	if err := os.Setenv(mutant.ProbesVariable, path); err != nil {
		return nil, err
	}
	defer os.Unsetenv(mutant.ProbesVariable)
	h.options.jobs = 1
	err = h.withPool(func() error {
		unreached, err = h.probe(ctx, chosen)
		return err
	})
	return unreached, err
}

func count(times uint64) string {
	if times == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", times)
}

// reached is how often runs reached the place of an edit, and in how many of the runs.
type reached struct{ times, runs uint64 }

// probe counts once for each kind of runs, whatever mutants name it.
func (h *hunter) probe(ctx context.Context, chosen []mutant.Mutant) (unreached []string, err error) {
	known := map[string]map[string][]reached{}
	for _, m := range chosen {
		runs := strings.Join(m.Hunt, " ")
		all, counted := known[m.Target+" "+runs]
		if !counted {
			if all, err = h.counts(ctx, m); err != nil {
				return nil, fmt.Errorf("probing the runs of %s: %w", m.Name, err)
			}
			known[m.Target+" "+runs] = all
		}
		for i, p := range m.Patches() {
			edit := m.Name
			if len(m.More) > 0 {
				edit += fmt.Sprintf(", edit %d of %d", i+1, 1+len(m.More))
			}
			switch at := all[m.Name][i]; {
			case at.times > 0:
				fmt.Fprintf(h.stdout, "%-24s reached %s, in %d of %d runs of %s\n", edit, count(at.times), at.runs, h.options.probe, runs)
			case strings.Contains(p.Replacement, p.Anchor):
				fmt.Fprintf(h.stdout, "%-24s adds to %s, and was reached 0 times, if there is anything to reach\n", edit, p.File)
			default:
				fmt.Fprintf(h.stdout, "%-24s reached 0 times: none of %d runs of %s gets to this place in %s\n", edit, h.options.probe, runs, p.File)
				unreached = append(unreached, edit+" is never reached")
			}
		}
	}
	return unreached, nil
}

// counts runs seeds of a mutant's runs, without the mutant, and returns what they reached of each mutant's edits.
func (h *hunter) counts(ctx context.Context, m mutant.Mutant) (map[string][]reached, error) {
	spec, err := h.spec(ctx, m)
	if err != nil {
		return nil, err
	}
	all := map[string][]reached{}
	before, err := h.probes.Counts()
	for name, counts := range before {
		all[name] = make([]reached, len(counts))
	}
	for n := 0; err == nil && n < h.options.probe; n++ {
		if _, _, err := h.run(ctx, "", spec.WithSeed(uint64(n+1))); err != nil {
			return nil, err
		}
		var after map[string][]uint64
		after, err = h.probes.Counts()
		for name, counts := range after {
			for i, count := range counts {
				if times := count - before[name][i]; times > 0 {
					all[name][i].times += times
					all[name][i].runs++
				}
			}
		}
		before = after
	}
	return all, err
}
