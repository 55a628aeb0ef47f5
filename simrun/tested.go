package simrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
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

// testedRun is a request to run a target's tests, as testedFile in the run's folder stores it.
type testedRun struct {
	Target   string   `json:"target"`
	Scenario string   `json:"scenario"`
	Mutants  []string `json:"mutants,omitempty"`
	Use      []string `json:"use,omitempty"`
	// Seeds are the first and the last, separated by a hyphen, and Faults the kinds, empty for all.
	Seeds  string `json:"seeds"`
	Faults string `json:"faults,omitempty"`
}

// The files in the folder of such a run: the request, the result, and the failures that tests have kept.
const (
	testedFile = "tested.json"
	reportFile = "report.json"
	keptFolder = "testdata"
)

func (r testedRun) write(folder string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, testedFile), append(text, '\n'), 0o644)
}

// readTested reads the folder of such a run; is reports whether it is one.
func readTested(folder string) (r testedRun, is bool, err error) {
	text, err := os.ReadFile(filepath.Join(folder, testedFile))
	if err != nil {
		return r, false, nil // a folder of another kind, or none
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, true, fmt.Errorf("%s: expected what was asked of tests in %s: %w", folder, testedFile, err)
	}
	return r, true, nil
}

// run runs the tests in a folder.
func (r testedRun) run(ctx context.Context, out io.Writer, folder, binary, test string, workers int) error {
	tests := exec.CommandContext(ctx, binary,
		"-test.run=^"+test+"$", "-test.v", "-test.timeout=0", "-test.artifacts", "-test.outputdir="+folder,
		"-simtest.seeds="+r.Seeds, "-simtest.workers="+strconv.Itoa(workers), "-simtest.faults="+r.Faults,
		"-simtest.report="+filepath.Join(folder, reportFile))
	again := []string{"simrun", "--target", r.Target, "--scenario", r.Scenario}
	for _, name := range r.Mutants {
		again = append(again, "--mutant", name)
	}
	for _, use := range r.Use {
		again = append(again, "--use", use)
	}
	tests.Dir = folder
	tests.Env = append(os.Environ(), mutant.Variable+"="+strings.Join(r.Mutants, ","), simtestAgain+"="+strings.Join(again, " "))
	tests.Stdout, tests.Stderr = out, out
	tests.Cancel = func() error { return tests.Process.Signal(os.Interrupt) }
	err := tests.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		err = exit(exitFailed)
	}
	return cmp.Or(ctx.Err(), err)
}

// simtestAgain is the environment variable with the command that simtest tells users for running a
// seed again.
const simtestAgain = "WATCHSIM_SIMTEST_AGAIN"

// readFailure reads the report of a run, nil if nothing failed.
func readFailure(folder string) (*selfbuild.Failure, error) {
	report, err := selfbuild.ReadReport(filepath.Join(folder, reportFile))
	if err != nil {
		err = fmt.Errorf("expected the report of a run that came to its end, found none: %w", err)
	}
	return report.Failure, err
}

// replayTested runs the failure in a folder again, and says whether it is the same run.
func (f *replayFlags) replayTested(command *cobra.Command, folder string, r testedRun) error {
	if other := otherFlag(command); other != "" {
		return fmt.Errorf("--%s: expected no flags with the folder of a run of target %s", other, r.Target)
	}
	failure, err := readFailure(folder)
	if err != nil {
		return err
	}
	if failure == nil {
		return fmt.Errorf("%s: expected a run that has failed, found seeds %s, which have passed", folder, r.Seeds)
	}
	flags := runFlags{target: r.Target, scenario: r.Scenario, mutants: r.Mutants, use: r.Use}
	t := flags.testedTarget()
	if t == nil {
		return fmt.Errorf("%s: expected a target of tests in %s, found %q", folder, testedFile, r.Target)
	}
	chosen, binary, err := flags.builtTests(command.ErrOrStderr(), t)
	if err != nil {
		return err
	}
	again, err := scenario.NewFolder(filepath.Join(folder, "replay"))
	if err != nil {
		return err
	}
	// The kept failure runs first, with the faults and values of the smaller run.
	if err := os.CopyFS(filepath.Join(again, keptFolder), os.DirFS(filepath.Join(folder, keptFolder))); err != nil {
		return err
	}
	r.Seeds = fmt.Sprintf("%[1]d-%[1]d", failure.ShownSeed)
	if err := r.write(again); err != nil {
		return err
	}
	out := command.OutOrStdout()
	ended := r.run(command.Context(), out, again, binary, chosen.Test, 1)
	if ended != nil && !errors.Is(ended, exit(exitFailed)) {
		return ended
	}
	found, err := readFailure(again)
	switch {
	case err != nil:
		return err
	case found == nil:
		fmt.Fprintf(out, "  the replay differs: expected a failure with the hash %s, found none;\n", failure.ShownHash)
	case found.ShownHash != failure.ShownHash:
		fmt.Fprintf(out, "  the replay differs: expected the hash %s, found %s;\n", failure.ShownHash, found.ShownHash)
	default:
		fmt.Fprintf(out, "  the hash agrees: %s\n  artifacts in %s\n", failure.ShownHash, shown(again))
		return ended
	}
	fmt.Fprintln(out, "  the code or the toolchain is not the one that recorded it")
	return exit(exitInconclusive)
}

// explainTested explains each history of a folder's failure that breaks a guarantee, and says what else failed.
func (f *explainFlags) explainTested(command *cobra.Command, folder string, r testedRun) error {
	if f.json || f.out != "" {
		return fmt.Errorf("--json, --out: expected neither with the folder of a run of target %s: give one of its histories", r.Target)
	}
	failure, err := readFailure(folder)
	if err != nil {
		return err
	}
	out := command.OutOrStdout()
	if failure == nil {
		fmt.Fprintf(out, "seeds %s of %s %s have passed\n", r.Seeds, r.Target, r.Scenario)
		return nil
	}
	histories, err := filepath.Glob(filepath.Join(folder, "_artifacts", "*", fmt.Sprintf("seed-%d-*.jsonl", failure.ShownSeed)))
	if err != nil {
		return err
	}
	slices.Sort(histories)
	fmt.Fprintf(out, "seed %d of %s %s has failed (hash %s)\n", failure.ShownSeed, r.Target, r.Scenario, failure.ShownHash)
	for _, path := range histories {
		verdict := judged(path, nil)
		if verdict.Error != "" {
			return errors.New(verdict.Error)
		}
		if verdict.Outcome == linearizability.Failed {
			fmt.Fprintf(out, "\n%s", verdict.Explanation())
		}
	}
	if failure.Stop != "" {
		failure.Log = append(failure.Log, failure.Stop)
	}
	if len(failure.Log) > 0 {
		fmt.Fprintf(out, "\nwhat the test has said:\n    %s\n", strings.ReplaceAll(strings.TrimRight(strings.Join(failure.Log, "\n"), "\n"), "\n", "\n    "))
	}
	return exit(exitFailed)
}
