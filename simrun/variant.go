package simrun

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/swarm"
)

// asItIs is the variant with the versions that go.mod requires.
const asItIs = "none"

// variant is the results of seeds with other code, or with none.
type variant struct {
	name     string
	config   swarm.Config
	verdicts map[uint64]scenario.Verdict
}

// buildVariant builds the binary for a variant.
func (f *runFlags) buildVariant(notes io.Writer, uses []string) (variant, error) {
	flags := *f
	flags.use = uses
	v := variant{name: cmp.Or(strings.Join(uses, ","), asItIs), verdicts: map[uint64]scenario.Verdict{}}
	var err error
	if v.config, err = flags.config(notes); err != nil {
		return v, &unbuildable{err}
	}
	v.config.KeepAll = f.keepAll
	return v, nil
}

// runVariant runs the seeds of the flags with a variant. Failing seeds keep their folders, as in a
// range.
func (f *runFlags) runVariant(command *cobra.Command, uses []string) (variant, error) {
	v, err := f.buildVariant(command.ErrOrStderr(), uses)
	if err != nil {
		return v, err
	}
	return v, f.runBuilt(command, v)
}

// runBuilt runs the seeds with a binary.
func (f *runFlags) runBuilt(command *cobra.Command, v variant) error {
	problem := swarm.Run(command.Context(), v.config, func(outcome swarm.Outcome) error {
		if outcome.Err != nil && !errors.Is(outcome.Err, swarm.ErrOutside) {
			return fmt.Errorf("%s: %w", v.name, outcome.Err)
		}
		if outcome.Verdict.Outcome == "" {
			return nil
		}
		v.verdicts[outcome.Verdict.Seed] = outcome.Verdict
		if f.json {
			return json.NewEncoder(command.OutOrStdout()).Encode(outcome.Verdict)
		}
		return nil
	})
	return cmp.Or(problem, command.Context().Err())
}

// unbuildable is the error of a variant that cannot be built.
type unbuildable struct{ error }

// count is how many seeds had this outcome.
func (v variant) count(outcome linearizability.Outcome) (n int) {
	for _, verdict := range v.verdicts {
		if verdict.Outcome == outcome {
			n++
		}
	}
	return n
}

// broken returns the broken guarantees, with the seeds in ascending order.
func (v variant) broken() map[string][]uint64 {
	seeds := map[string][]uint64{}
	for _, seed := range slices.Sorted(maps.Keys(v.verdicts)) {
		for _, guarantee := range v.verdicts[seed].Broken() {
			seeds[guarantee] = append(seeds[guarantee], seed)
		}
	}
	return seeds
}

// maxSeedsShown is the largest number of seeds in a line.
const maxSeedsShown = 8

// seedList lists the first seeds as text.
func seedList(seeds []uint64) string {
	text := strings.Trim(fmt.Sprint(seeds[:min(len(seeds), maxSeedsShown)]), "[]")
	if len(seeds) > maxSeedsShown {
		text += " ..."
	}
	return text
}
