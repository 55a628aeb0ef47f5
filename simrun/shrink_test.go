package simrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/search/swarm"
)

// failing returns the artifacts of a run whose watches lose events.
func failing(t *testing.T) string {
	return recordRun(t, "--target", "forgetful", "--scenario", "calm")
}

func verdictIn(t *testing.T, folder string) (verdict scenario.Verdict) {
	require.NoError(t, json.Unmarshal([]byte(content(t, folder, "verdict.json")), &verdict))
	return verdict
}

func TestAFailureIsShrunkAndReplays(t *testing.T) {
	folder := failing(t)
	stdout := simrunExits(t, exitPassed, "shrink", "--budget", "3m", folder)
	require.Contains(t, stdout, "nothing else can be left out")

	small := folder + "-shrunk"
	before, after := verdictIn(t, folder), verdictIn(t, small)
	require.Equal(t, before.Violations[0].Guarantee, after.Violations[0].Guarantee)
	require.Greater(t, before.Operations, 150)
	// An event whose resourceVersion is a multiple of 7 takes a few writes.
	require.LessOrEqual(t, after.Operations, 12, stdout)
	require.Less(t, after.SimulatedSeconds, before.SimulatedSeconds)
	recorded, err := scenario.Load(small)
	require.NoError(t, err)
	require.Empty(t, recorded.Tape, "goroutines take turns")
	require.Equal(t, before.Violations[0].Guarantee, recorded.Spec.Reduced.Guarantee)
	require.Contains(t, content(t, small, "report.txt"), "steps that clients take:")

	for range 3 {
		stdout = simrunExits(t, exitFailed, "replay", small)
		require.Contains(t, stdout, "the hash agrees: "+after.Hash)
	}
	t.Run("with another fault", func(t *testing.T) {
		changed := filepath.Join(t.TempDir(), "changed")
		require.NoError(t, os.CopyFS(changed, os.DirFS(small)))
		plan := "at 500ms compaction revision=current\n"
		require.NoError(t, os.WriteFile(filepath.Join(changed, "plan.txt"), []byte(plan), 0o600))
		stdout := simrunExits(t, exitFailed, "replay", changed)
		require.Contains(t, stdout, recorded.Spec.Reduced.Guarantee+" is broken in it, too")
	})
}

func TestShrinkingKeepsTheBestWhenItsTimeIsUp(t *testing.T) {
	folder := failing(t)
	small := filepath.Join(folder, "small")
	stdout := simrunExits(t, exitPassed, "shrink", "--budget", "1ms", "--out", small, folder)
	require.Contains(t, stdout, "the search was cut short")
	require.Equal(t, verdictIn(t, folder).Violations[0].Guarantee, verdictIn(t, small).Violations[0].Guarantee)
}

func TestARunThatPassesIsNotShrunk(t *testing.T) {
	folder := recordRun(t, "--scenario", "calm")
	code, stdout, stderr := simrun(t, "shrink", folder)
	require.Equal(t, exitInconclusive, code, "%s%s", stdout, stderr)
	require.Contains(t, stderr, "expected the run in "+folder+" to break a guarantee, found that it does not")
	require.NoDirExists(t, folder+"-shrunk")
}

// A run that is taken apart, with nothing left out, is the same run: otherwise its failure would be
// lost before shrinking begins.
func TestARunTakenApartIsTheSameRun(t *testing.T) {
	for _, name := range []string{"minute", "reinit", "pair"} {
		for seed := range uint64(4) {
			spec, err := scenario.Named(name)
			require.NoError(t, err)
			spec.Target, spec.Seed = "cacher", seed+1
			whole := once(t, swarm.Job{Spec: spec, Details: true})
			apart := shrink.TakenApart(shrink.Case{Spec: spec}, *whole.Details, "Reliable")
			again := once(t, swarm.Job{Spec: apart.Spec, Tape: apart.Tape})
			require.Equal(t, whole.Verdict.Operations, again.Verdict.Operations, "%s, seed %d", name, seed+1)
			require.Equal(t, whole.Verdict.Hash, again.Verdict.Hash, "%s, seed %d", name, seed+1)
		}
	}
}
