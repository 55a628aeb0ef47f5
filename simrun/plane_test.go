package simrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every scenario of the control plane is a test of its module.
func TestScenariosOfTheControlPlaneAreThere(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", plane, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	for _, one := range planeScenarios {
		require.Contains(t, all.String(), "\nfunc "+one.test+"(t *testing.T)", one.name)
	}
}

// Commands that cannot run the control plane say so, whether it is named or one of its mutants is.
func TestOnlySeedsOfTheControlPlaneRun(t *testing.T) {
	for _, arguments := range []string{"explore --target " + plane, "campaign --seeds 1-2 --target " + plane, "campaign --seeds 1-2 --mutant RS02"} {
		var out, notes bytes.Buffer
		require.Equal(t, exitUsage, run(strings.Fields(arguments), strings.NewReader(""), &out, &notes), arguments)
		require.Contains(t, notes.String(), "expected another target than "+plane, arguments)
	}
}

// What the control plane cannot do is said before anything is built.
func TestWrongUseOfTheControlPlane(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                            "expected --seed or --seeds, found neither",
		"--seed 1 --duration 1m":      "--duration: expected only --scenario, --seed, ",
		"--seed 1 --scenario storm":   `unknown scenario "storm": expected one of any, ha, node-loss, leader-loss, namespace-delete, job-storm, crd-conversion, rollout`,
		"--seed 1 --mutant canary":    "--mutant: expected one of target controlplane, which `simrun mutants` lists, found \"canary\"",
		"--seed 1 --workers 0":        "--workers: expected at least 1 worker, found 0",
		"--seed 1 --faults sunshine":  `--faults: unknown kind "sunshine"`,
		"--seed 1 --faults plan.txt":  "--faults: ",
		"--seed 1 --use k8s.io/where": "--use: ",
	} {
		t.Run(arguments, func(t *testing.T) {
			var out, notes bytes.Buffer
			code := run(append([]string{"--target", plane}, strings.Fields(arguments)...), strings.NewReader(""), &out, &notes)
			require.Equal(t, exitUsage, code, out.String())
			require.Contains(t, notes.String(), want)
		})
	}
}
