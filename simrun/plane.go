package simrun

import (
	"cmp"
	"context"
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
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/simtest"
)

// plane is the target that is the whole control plane of Kubernetes. It is a module of its own,
// whose scenarios are tests of package simtest: they are built and run as such.
const plane = "controlplane"

var planeTarget = named{plane, "kube-apiserver, kube-controller-manager and kube-scheduler 1.37.2, with nodes and users (built on first use; has scenarios of its own)"}

// isPlane reports whether the flags ask for the control plane, by its name or by a mutant of it.
func (f *runFlags) isPlane() bool {
	return f.target == plane || f.target == "" && slices.ContainsFunc(mutant.ControlPlane(), func(m mutant.Mutant) bool { return slices.Contains(f.mutants, m.Name) })
}

// planeScenario is one of its scenarios.
type planeScenario struct {
	named
	test string // of the module
}

// planeScenarios lists them; the first is the default.
var planeScenarios = []planeScenario{
	{named{"any", "people do anything for a minute: two API servers over one etcd member"}, "TestAny"},
	{named{"ha", "people do anything for a minute: three API servers behind a balancer over three etcd members"}, "TestHA"},
	{named{"node-loss", "nodes lose power, are drained, labelled and replaced under deployments, sets and jobs"}, "TestNodeLoss"},
	{named{"leader-loss", "managers and schedulers are killed while they lead"}, "TestLeaderLoss"},
	{named{"namespace-delete", "namespaces are deleted with all that is in them, and created again"}, "TestNamespaceDelete"},
	{named{"job-storm", "jobs are created, changed, suspended and deleted"}, "TestJobStorm"},
	{named{"crd-conversion", "a webhook converts custom resources, whose definitions come and go: three API servers over three etcd members"}, "TestConversion"},
	{named{"rollout", "five deployments on three nodes are created and get another image"}, "TestRollout"},
}

func planeScenarioNames() []named {
	return namesOf(planeScenarios, func(one planeScenario) named { return one.named })
}

// planeFaultNames are what --faults takes.
func planeFaultNames() []named {
	kinds := append(simtest.Kinds(simtest.Config{KMS: true}), "none", "all")
	return namesOf(kinds, func(kind string) named { return named{name: kind} })
}

// planeFlags are the flags that such a run can have.
var planeFlags = []string{"target", "scenario", "seed", "seeds", "faults", "mutant", "use", "workers", "out", "verbose", "json"}

// runPlane builds the control plane and runs seeds of one of its scenarios.
func (f *runFlags) runPlane(command *cobra.Command) error {
	var other error
	command.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(planeFlags, flag.Name) && other == nil {
			other = fmt.Errorf("--%s: expected only --%s with --target %s", flag.Name, strings.Join(planeFlags[1:], ", --"), plane)
		}
	})
	if other != nil {
		return other
	}
	first, last, err := f.seedRange()
	if err != nil {
		return err
	}
	name := cmp.Or(f.scenario, planeScenarios[0].name)
	if err := checkName("scenario", name, planeScenarioNames()); err != nil {
		return err
	}
	chosen := planeScenarios[slices.IndexFunc(planeScenarios, func(one planeScenario) bool { return one.name == name })]
	uses, err := selfbuild.ParseUses(f.use...)
	if err != nil {
		return fmt.Errorf("--use: %w", err)
	}
	if _, err := workerLimits(f.workers); err != nil {
		return err
	}
	kinds := strings.TrimPrefix(f.faults, "all")
	if kinds != "" && kinds != "none" {
		for kind := range strings.SplitSeq(kinds, ",") {
			if err := checkName("kind", kind, planeFaultNames()); err != nil {
				return fmt.Errorf("--faults: %w", err)
			}
		}
	}
	var mutants []mutant.Mutant
	if len(f.mutants) > 0 {
		mutants = mutant.ControlPlane()
	}
	for _, name := range f.mutants {
		if !slices.ContainsFunc(mutants, func(m mutant.Mutant) bool { return m.Name == name }) {
			return fmt.Errorf("--mutant: expected one of target %s, which `simrun mutants` lists, found %q", plane, name)
		}
	}
	notes := command.ErrOrStderr()
	binary, err := built(notes, "Kubernetes' control plane", func(progress selfbuild.Progress) (string, error) {
		return selfbuild.BuildTests(progress, plane, uses, mutants)
	})
	if err != nil {
		return err
	}
	folder, err := scenario.NewFolder(filepath.Join(f.out, fmt.Sprintf("%s-%s-%d-%d", plane, name, first, last)))
	if err != nil {
		return fmt.Errorf("--out: cannot write to %s: %w", f.out, err)
	}
	fmt.Fprintf(notes, "watchsim  target %s  scenario %s  seeds %d to %d\n  artifacts   %s\n", plane, name, first, last, shown(folder))
	again := []string{"simrun", "--target", plane, "--scenario", name}
	for _, name := range f.mutants {
		again = append(again, "--mutant", name)
	}
	for _, use := range f.use {
		again = append(again, "--use", use)
	}
	out := command.OutOrStdout()
	if f.json {
		out = notes
	}
	report := filepath.Join(folder, "report.json")
	err = runTests(command.Context(), out, folder, binary, []string{
		"-test.run=^" + chosen.test + "$", "-test.v", "-test.timeout=0", "-test.artifacts", "-test.outputdir=" + folder,
		"-simtest.seeds=" + strconv.FormatUint(first, 10) + "-" + strconv.FormatUint(last, 10), "-simtest.workers=" + strconv.Itoa(f.workers),
		"-simtest.faults=" + kinds, "-simtest.report=" + report,
	}, mutant.Variable+"="+strings.Join(f.mutants, ","), again)
	if !f.json {
		return err
	}
	text, missing := os.ReadFile(report)
	if missing == nil {
		_, missing = command.OutOrStdout().Write(text)
	}
	return cmp.Or(err, missing)
}

// runTests runs a binary with tests of simtest in a folder, and says how to run a seed again.
func runTests(ctx context.Context, out io.Writer, folder, binary string, arguments []string, variable string, again []string) error {
	tests := exec.CommandContext(ctx, binary, arguments...)
	tests.Dir = folder
	tests.Env = append(os.Environ(), variable, simtestAgain+"="+strings.Join(again, " "))
	tests.Stdout, tests.Stderr = out, out
	tests.Cancel = func() error { return tests.Process.Signal(os.Interrupt) }
	err := tests.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &ended):
		return exit(exitFailed)
	}
	return err
}

// simtestAgain is the environment variable with the command that simtest tells users to run a
// seed with.
const simtestAgain = "WATCHSIM_SIMTEST_AGAIN"
