package simrun

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/swarm"
)

// explored returns the output of exploring the smallest scenario with these arguments.
func explored(t *testing.T, want int, arguments ...string) string {
	t.Helper()
	return simrunExits(t, want, append([]string{"explore", "--scenario", "slow-eviction", "--workers", "1"}, arguments...)...)
}

func TestExploreSaysWhatItHasExhausted(t *testing.T) {
	stdout := explored(t, exitPassed, "--bound", "0")
	require.Contains(t, stdout, "1 runs: 0 failed, 0 inconclusive")
	require.Contains(t, stdout, "1 distinct shapes")
	require.Contains(t, stdout, "exhausted: every schedule with at most 0 deviations")
	require.NotContains(t, stdout, " 0 lie beyond the bound", "there is something to depart from")

	stdout = explored(t, exitInconclusive, "--bound", "1", "--runs", "3")
	require.Contains(t, stdout, "3 runs: 0 failed")
	require.Contains(t, stdout, "ended: the limit of runs was hit")
	require.Contains(t, stdout, "not exhausted")
	require.NotContains(t, stdout, "  exhausted")
}

func TestExploreLeavesFailuresThatReplay(t *testing.T) {
	for _, strategy := range []string{"exhaustive", "pct", "random"} {
		t.Run(strategy, func(t *testing.T) {
			out := t.TempDir()
			stdout := explored(t, exitFailed, "--target", "forgetful", "--strategy", strategy, "--out", out)
			require.Contains(t, stdout, "first failure in run 1\n")
			require.Contains(t, stdout, "ended: the limit of failures was hit")
			require.NotContains(t, stdout, "  exhausted")
			folders, err := filepath.Glob(filepath.Join(out, "*-explored-1"))
			require.NoError(t, err)
			require.Len(t, folders, 1)
			stdout = simrunExits(t, exitFailed, "replay", folders[0])
			require.Contains(t, stdout, "the hash agrees")
		})
	}
}

func TestExploreIsTheSameEachTimeAndWithAnyNumberOfWorkers(t *testing.T) {
	shapes := regexp.MustCompile(`(?m)^  \d+ (distinct shapes|new shapes|states).*$`)
	for strategy, want := range map[string]int{"exhaustive": exitInconclusive, "pct": exitPassed, "branch": exitPassed} {
		arguments := []string{"--strategy", strategy, "--runs", "8"}
		once := explored(t, want, arguments...)
		again := explored(t, want, append(arguments, "--workers", "2")...)
		require.NotEmpty(t, shapes.FindAllString(once, -1), once)
		require.Equal(t, shapes.FindAllString(once, -1), shapes.FindAllString(again, -1))
	}
}

// TestExploreSkipsNothingThatMatters compares a search that goes on from no state twice with
// one that does so always. The first deviations are made before anything was decided.
func TestExploreSkipsNothingThatMatters(t *testing.T) {
	found := regexp.MustCompile(`(?m)^  (\d+ distinct shapes|exhausted: .*)`)
	window := []string{"--bound", "1", "--delays", "5ms", "--to", "2006ms"}
	skipping := explored(t, exitPassed, window...)
	require.Contains(t, skipping, "went on as one before")
	require.Contains(t, skipping, " 0 had another")
	every := explored(t, exitPassed, append(window, "--skip-known=false")...)
	require.NotContains(t, every, "went on as one before")
	require.Len(t, found.FindAllString(every, -1), 2)
	require.Equal(t, found.FindAllString(every, -1), found.FindAllString(skipping, -1))
}

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
