package simrun

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/swarm"
)

// once does a job in a fresh worker, which must pass.
func once(t *testing.T, job swarm.Job) swarm.Answer {
	t.Helper()
	answer, err := swarm.Once(t.Context(), itself(t), job, swarm.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, linearizability.Passed, answer.Verdict.Outcome, answer.Report)
	return answer
}

// TestARunThatBranchesIsItsRecipe makes a branch of a branch in a copy, and again from the
// recipe alone: in a fresh process, and from its folder.
func TestARunThatBranchesIsItsRecipe(t *testing.T) {
	spec, err := scenario.Named("minute")
	require.NoError(t, err)
	spec.Target, spec.Seed = "cacher", 7
	for _, at := range []time.Duration{12 * time.Second, 20 * time.Second} {
		branch, err := spec.Redrawn(at, uint64(at))
		require.NoError(t, err)
		require.NotEmpty(t, branch.Plan)
		spec.Branches = append(spec.Branches, branch)
	}
	job := swarm.Job{Spec: spec, Looks: time.Second, Folder: filepath.Join(t.TempDir(), "run")}
	whole := once(t, job)
	require.Equal(t, 21*time.Second, whole.Looks[0].At)
	stdout := simrunExits(t, exitPassed, "replay", job.Folder)
	require.Contains(t, stdout, "the hash agrees: "+whole.Verdict.Hash)

	refused(t, "expected a run that did not branch, found one with 2 branches", "replay", "--prompt", job.Folder)
	simrunExits(t, exitPassed, "replay", "--until", "25s", job.Folder)

	shared := swarm.Job{Spec: spec, Looks: time.Second}
	shared.Spec.Branches = spec.Branches[:1]
	another := spec.Branches[1]
	another.Seed++
	shared.Forks = []swarm.Fork{{At: another.At, Ways: []swarm.Way{{Branch: another}, {Branch: spec.Branches[1]}}}}
	var copies []swarm.Answer
	for _, reply := range once(t, shared).Forks[0] {
		made, err := reply.Read(spec.Seed)
		require.NoError(t, err)
		copies = append(copies, made)
	}
	require.Equal(t, whole.Verdict.Hash, copies[1].Verdict.Hash)
	require.Equal(t, whole.Looks, copies[1].Looks)
	require.NotEqual(t, whole.Verdict.Hash, copies[0].Verdict.Hash)

	for name, alter := range map[string]func(*scenario.Branch){
		"the schedule is another": func(b *scenario.Branch) { b.Seed++ },
		"clients ask for others":  func(b *scenario.Branch) { b.Redraw = false },
		"faults are others":       func(b *scenario.Branch) { b.Plan = "" },
	} {
		altered := swarm.Job{Spec: spec}
		altered.Spec.Branches = []scenario.Branch{spec.Branches[0], spec.Branches[1]}
		alter(&altered.Spec.Branches[1])
		require.NotEqual(t, whole.Verdict.Hash, once(t, altered).Verdict.Hash, name)
	}
	require.Equal(t, whole.Verdict.Hash, once(t, swarm.Job{Spec: spec}).Verdict.Hash, "nothing shows of who looks")
}
