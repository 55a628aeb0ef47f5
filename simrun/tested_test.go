package simrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/selfbuild"
)

// Every scenario of a target that is tested is a test there.
func TestScenariosThatAreTestsAreThere(t *testing.T) {
	for _, target := range testedTargets {
		files, err := filepath.Glob(filepath.Join("..", target.Tests.Module, target.Tests.Package, "*_test.go"))
		require.NoError(t, err)
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all.Write(text)
		}
		for _, one := range target.Scenarios {
			require.Contains(t, all.String(), "\nfunc "+one.Test+"(t *testing.T)", one.Name)
		}
	}
}

// Commands that cannot run tests say so, whether their target is named or a mutant that only it has.
func TestOnlySeedsOfTestsRun(t *testing.T) {
	for arguments, target := range map[string]string{
		"explore --target controlplane": selfbuild.ControlPlane, "campaign --seeds 1-2 --target http": "http", "campaign --seeds 1-2 --mutant RS02": selfbuild.ControlPlane, "campaign --seeds 1-2 --mutant OP05": "operator",
	} {
		var out, notes bytes.Buffer
		require.Equal(t, exitUsage, run(strings.Fields(arguments), strings.NewReader(""), &out, &notes), arguments)
		require.Contains(t, notes.String(), "expected another target than "+target, arguments)
	}
}

// What such a target cannot do is said before anything is built.
func TestWrongUseOfTestedTargets(t *testing.T) {
	for arguments, want := range map[string]string{
		"controlplane":                                         "expected --seed or --seeds, found neither",
		"controlplane --seed 1 --duration 1m":                  "--duration: expected only --scenario, --seed, ",
		"controlplane --seed 1 --scenario storm":               `unknown scenario "storm": expected one of any, ha, node-loss, leader-loss, namespace-delete, job-storm, crd-conversion, rollout`,
		"controlplane --seed 1 --mutant sunshine":              "--mutant: expected one of target controlplane, which `simrun mutants` lists, found \"sunshine\"",
		"controlplane --seed 1 --mutant cacher-A01":            "--mutant: expected mutants that one scenario of target controlplane has, found cacher-A01",
		"controlplane --seed 1 --workers 0":                    "--workers: expected at least 1 worker, found 0",
		"controlplane --seed 1 --faults sunshine":              `--faults: unknown kind "sunshine"`,
		"controlplane --seed 1 --faults plan.txt":              "--faults: ",
		"controlplane --seed 1 --use k8s.io/where":             "--use: ",
		"http --seed 1 --scenario any":                         `unknown scenario "any": expected one of clients, clients-ha, clients-cacher`,
		"http --seed 1 --mutant RS02":                          "--mutant: expected one of target http, which `simrun mutants` lists, found \"RS02\"",
		"http --seed 1 --faults kms-error":                     `--faults: unknown kind "kms-error"`,
		"http --seed 1 --scenario clients --mutant cacher-A01": "--scenario: expected clients-cacher, whose API servers can have the mutant cacher-A01, found clients",
	} {
		t.Run(arguments, func(t *testing.T) {
			var out, notes bytes.Buffer
			code := run(append([]string{"--target"}, strings.Fields(arguments)...), strings.NewReader(""), &out, &notes)
			require.Equal(t, exitUsage, code, out.String())
			require.Contains(t, notes.String(), want)
		})
	}
}
