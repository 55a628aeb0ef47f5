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

// tested is a target whose scenarios are tests of package simtest: they are built and run as such.
type tested struct {
	named
	tests     selfbuild.Tests
	scenarios []testedScenario
	mutants   func() []mutant.Mutant
}

// testedScenario is one of its scenarios.
type testedScenario struct {
	named
	test string
	// cacher is the target whose mutants its API servers can have, beside those that every target has.
	cacher string
}

// testedTargets are all there are. The first scenario of each is its default.
var testedTargets = []tested{
	{
		named{"http", "API servers of k8s.io/apiserver around either cache, and clients of client-go, over HTTPS (built on first use; has scenarios of its own)"},
		selfbuild.Tests{Package: "simtest"},
		[]testedScenario{
			{named{"clients", "writers, readers, watchers and informers ask for anything in any encoding: two API servers with Kubernetes' cache over one etcd member"}, "TestClients", "kubernetes"},
			{named{"clients-ha", "the same with three API servers over three etcd members"}, "TestClientsOfManyServers", "kubernetes"},
			{named{"clients-cacher", "the same as clients with the project's own cache"}, "TestClientsOfWatchsim", "cacher"},
		},
		mutant.All,
	},
	{
		named{"controlplane", "kube-apiserver, kube-controller-manager and kube-scheduler 1.37.2, with nodes and users (built on first use; has scenarios of its own)"},
		selfbuild.Tests{Module: controlPlane},
		[]testedScenario{
			{named{"any", "people do anything for a minute: two API servers over one etcd member"}, "TestAny", controlPlane},
			{named{"ha", "people do anything for a minute: three API servers behind a balancer over three etcd members"}, "TestHA", controlPlane},
			{named{"node-loss", "nodes lose power, are drained, labelled and replaced under deployments, sets and jobs"}, "TestNodeLoss", controlPlane},
			{named{"leader-loss", "managers and schedulers are killed while they lead"}, "TestLeaderLoss", controlPlane},
			{named{"namespace-delete", "namespaces are deleted with all that is in them, and created again"}, "TestNamespaceDelete", controlPlane},
			{named{"job-storm", "jobs are created, changed, suspended and deleted"}, "TestJobStorm", controlPlane},
			{named{"crd-conversion", "a webhook converts custom resources, whose definitions come and go: three API servers over three etcd members"}, "TestConversion", controlPlane},
			{named{"rollout", "five deployments on three nodes are created and get another image"}, "TestRollout", controlPlane},
		},
		mutant.ControlPlane,
	},
}

// testedTarget is the target of this kind that the flags ask for, by its name or by a mutant that no other target has; nil for another.
func (f *runFlags) testedTarget() *tested {
	for i := range testedTargets {
		one := &testedTargets[i]
		if f.target == one.name || f.target == "" && one.name == controlPlane && slices.ContainsFunc(one.mutants(), func(m mutant.Mutant) bool { return slices.Contains(f.mutants, m.Name) }) {
			return one
		}
	}
	return nil
}

// controlPlane is the module of the control plane, whose mutants are of no other target.
const controlPlane = "controlplane"

func (t *tested) scenarioNames() []named {
	return namesOf(t.scenarios, func(one testedScenario) named { return one.named })
}

// faultNames are what --faults takes.
func (t *tested) faultNames() []named {
	kinds := append(simtest.Kinds(simtest.Config{KMS: t.name == controlPlane}), "none", "all")
	return namesOf(kinds, func(kind string) named { return named{name: kind} })
}

// testedFlags are the flags that such a run can have.
var testedFlags = []string{"target", "scenario", "seed", "seeds", "faults", "mutant", "use", "workers", "out", "verbose", "json"}

// runTested builds the tests and runs seeds of one of the scenarios.
func (f *runFlags) runTested(command *cobra.Command, t *tested) error {
	var other error
	command.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(testedFlags, flag.Name) && other == nil {
			other = fmt.Errorf("--%s: expected only --%s with --target %s", flag.Name, strings.Join(testedFlags[1:], ", --"), t.name)
		}
	})
	if other != nil {
		return other
	}
	first, last, err := f.seedRange()
	if err != nil {
		return err
	}
	chosen, mutants, err := f.testedScenario(t)
	if err != nil {
		return err
	}
	name := chosen.name
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
			if err := checkName("kind", kind, t.faultNames()); err != nil {
				return fmt.Errorf("--faults: %w", err)
			}
		}
	}
	notes := command.ErrOrStderr()
	binary, err := built(notes, "target "+t.name, func(progress selfbuild.Progress) (string, error) {
		return selfbuild.BuildTests(progress, t.tests, uses, mutants)
	})
	if err != nil {
		return err
	}
	folder, err := scenario.NewFolder(filepath.Join(f.out, fmt.Sprintf("%s-%s-%d-%d", t.name, name, first, last)))
	if err != nil {
		return fmt.Errorf("--out: cannot write to %s: %w", f.out, err)
	}
	fmt.Fprintf(notes, "watchsim  target %s  scenario %s  seeds %d to %d\n  artifacts   %s\n", t.name, name, first, last, shown(folder))
	again := []string{"simrun", "--target", t.name, "--scenario", name}
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

// testedScenario returns the scenario that the flags ask for, or else the first that can have the mutants, and all
// mutants to build with: none if none is asked for.
func (f *runFlags) testedScenario(t *tested) (testedScenario, []mutant.Mutant, error) {
	if f.scenario != "" {
		if err := checkName("scenario", f.scenario, t.scenarioNames()); err != nil {
			return testedScenario{}, nil, err
		}
	}
	var all []mutant.Mutant
	if len(f.mutants) > 0 {
		all = t.mutants()
	}
	can := slices.Clone(t.scenarios)
	for _, name := range f.mutants {
		at := slices.IndexFunc(all, func(m mutant.Mutant) bool { return m.Name == name })
		if at < 0 {
			return testedScenario{}, nil, fmt.Errorf("--mutant: expected one of target %s, which `simrun mutants` lists, found %q", t.name, name)
		}
		can = slices.DeleteFunc(can, func(one testedScenario) bool { return all[at].Target != "" && all[at].Target != one.cacher })
	}
	asked := slices.DeleteFunc(slices.Clone(can), func(one testedScenario) bool { return f.scenario != "" && one.name != f.scenario })
	switch {
	case len(can) == 0:
		return testedScenario{}, nil, fmt.Errorf("--mutant: expected mutants of one cacher, found %s", strings.Join(f.mutants, ", "))
	case len(asked) == 0:
		return testedScenario{}, nil, fmt.Errorf("--scenario: expected %s, whose API servers can have the mutant %s, found %s", can[0].name, strings.Join(f.mutants, ", "), f.scenario)
	}
	return asked[0], all, nil
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
