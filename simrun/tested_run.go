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

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

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
