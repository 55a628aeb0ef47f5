package simrun

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/simtest"
)

// testedTargets are those whose scenarios are tests of package simtest.
var testedTargets = selfbuild.AllTested()

// testedTarget returns the target of this kind that the flags ask for, by name or by a mutant that no other target has; else nil.
func (f *runFlags) testedTarget() *selfbuild.Tested {
	for i := range testedTargets {
		one := &testedTargets[i]
		its := func(m mutant.Mutant) bool { return m.Target == one.Name && slices.Contains(f.mutants, m.Name) }
		if f.target == one.Name || f.target == "" && slices.ContainsFunc(one.Mutants(), its) {
			return one
		}
	}
	return nil
}

// testedFlags are the flags that such a run accepts.
var testedFlags = []string{"target", "scenario", "seed", "seeds", "faults", "mutant", "use", "workers", "out", "verbose", "json"}

// otherFlag returns a given flag that is none of the accepted ones, empty if there is none.
func otherFlag(command *cobra.Command, accepted ...string) (other string) {
	command.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(accepted, flag.Name) {
			other = cmp.Or(other, flag.Name)
		}
	})
	return other
}

// runTested builds the tests and runs seeds of one of their scenarios.
func (f *runFlags) runTested(command *cobra.Command, t *selfbuild.Tested) error {
	if other := otherFlag(command, testedFlags...); other != "" {
		return fmt.Errorf("--%s: expected only --%s with --target %s", other, strings.Join(testedFlags[1:], ", --"), t.Name)
	}
	first, last, err := f.seedRange()
	if err != nil {
		return err
	}
	kinds := strings.TrimPrefix(f.faults, "all")
	if kinds != "" && kinds != "none" {
		known := namesOf(append(simtest.Kinds(simtest.Config{KMS: true}), "none", "all"), func(kind string) named { return named{name: kind} })
		for kind := range strings.SplitSeq(kinds, ",") {
			if err := checkName("kind", kind, known); err != nil {
				return fmt.Errorf("--faults: %w", err)
			}
		}
	}
	notes := command.ErrOrStderr()
	chosen, binary, err := f.builtTests(notes, t)
	if err != nil {
		return err
	}
	asked := testedRun{Target: t.Name, Scenario: chosen.Name, Mutants: f.mutants, Use: f.use, Seeds: fmt.Sprintf("%d-%d", first, last), Faults: kinds}
	folder, err := scenario.NewFolder(filepath.Join(f.out, fmt.Sprintf("%s-%s-%s", t.Name, chosen.Name, asked.Seeds)))
	if err == nil {
		err = asked.write(folder)
	}
	if err != nil {
		return fmt.Errorf("--out: cannot write to %s: %w", f.out, err)
	}
	fmt.Fprintf(notes, "watchsim  target %s  scenario %s  seeds %d to %d\n  artifacts   %s\n", t.Name, chosen.Name, first, last, shown(folder))
	err = asked.run(command.Context(), f.people(command), folder, binary, chosen.Test, f.workers)
	if !f.json {
		return err
	}
	text, missing := os.ReadFile(filepath.Join(folder, reportFile))
	if missing == nil {
		_, missing = command.OutOrStdout().Write(text)
	}
	return cmp.Or(err, missing)
}

// builtTests returns the scenario to run, and the binary with the tests of its target.
func (f *runFlags) builtTests(notes io.Writer, t *selfbuild.Tested) (chosen selfbuild.TestedScenario, binary string, err error) {
	chosen, mutants, err := f.testedScenario(t)
	if err != nil {
		return chosen, "", err
	}
	uses, err := selfbuild.ParseUses(f.use...)
	if err != nil {
		return chosen, "", fmt.Errorf("--use: %w", err)
	}
	binary, err = built(notes, "target "+t.Name, func(progress selfbuild.Progress) (string, error) {
		return selfbuild.BuildTests(progress, t.Tests, uses, mutants)
	})
	return chosen, binary, err
}

// testedScenario returns the requested scenario, or else the first that can have the mutants, and the mutants to
// build with: none if none is requested.
func (f *runFlags) testedScenario(t *selfbuild.Tested) (chosen selfbuild.TestedScenario, all []mutant.Mutant, err error) {
	if f.scenario != "" {
		known := namesOf(t.Scenarios, func(one selfbuild.TestedScenario) named { return named{one.Name, one.Summary} })
		if err := checkName("scenario", f.scenario, known); err != nil {
			return chosen, nil, err
		}
	}
	if len(f.mutants) > 0 {
		all = t.ToChoose(f.mutants...)
	}
	can := slices.Clone(t.Scenarios)
	for _, name := range f.mutants {
		at := slices.IndexFunc(all, func(m mutant.Mutant) bool { return m.Name == name })
		if at < 0 {
			return chosen, nil, fmt.Errorf("--mutant: expected one of target %s, which `simrun mutants` lists, found %q", t.Name, name)
		}
		can = slices.DeleteFunc(can, func(one selfbuild.TestedScenario) bool { return !one.Has(all[at]) })
	}
	asked := slices.DeleteFunc(slices.Clone(can), func(one selfbuild.TestedScenario) bool { return f.scenario != "" && one.Name != f.scenario })
	switch {
	case len(can) == 0:
		return chosen, nil, fmt.Errorf("--mutant: expected mutants that one scenario of target %s has, found %s", t.Name, strings.Join(f.mutants, ", "))
	case len(asked) == 0:
		return chosen, nil, fmt.Errorf("--scenario: expected %s, whose API servers can have the mutant %s, found %s", can[0].Name, strings.Join(f.mutants, ", "), f.scenario)
	}
	return asked[0], all, nil
}
