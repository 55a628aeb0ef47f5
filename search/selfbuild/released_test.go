package selfbuild_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/search/swarm"
)

var last = flag.Uint64("last", 2000, "the last of the seeds to hunt a bug in, unless it is found before")

var build = flag.Bool("build", false, "build each released version and run it, which takes minutes the first time")

// run builds a worker of a release, with a mutant or none, runs seeds of a scenario with faults of
// some kinds, its own if nil, and returns the verdicts.
func run(t *testing.T, release, edit, name string, kinds []string, first, last uint64) (verdicts []scenario.Verdict) {
	t.Helper()
	if !*build {
		t.Skip("it takes minutes to build a release for the first time; run `make released`")
	}
	found, known := target.FindRelease(release)
	require.True(t, known)
	var edits []mutant.Mutant
	if edit != "" {
		m, err := mutant.Find(edit)
		require.NoError(t, err)
		edits = append(edits, m)
	}
	worker, err := selfbuild.BuildReleased(nil, found, nil, edits...)
	require.NoError(t, err)
	spec, err := scenario.Named(name)
	require.NoError(t, err)
	spec.Target, spec.Mutant = release, edit
	if kinds != nil {
		spec.Kinds = kinds
	}
	config := swarm.Config{Binary: worker, Spec: spec, First: first, Last: last, Out: t.TempDir(), Limits: swarm.DefaultLimits()}
	require.NoError(t, swarm.Run(t.Context(), config, func(outcome swarm.Outcome) error {
		verdicts = append(verdicts, outcome.Verdict)
		return outcome.Err
	}))
	require.Len(t, verdicts, int(last-first+1))
	return verdicts
}

// The old code is correct without faults: so its failures elsewhere are not caused by the harness.
func TestReleasesPassACalmRun(t *testing.T) {
	for _, release := range target.Releases() {
		for _, v := range run(t, release.Name, "", "calm", nil, 1, 3) {
			require.Equal(t, linearizability.Passed, v.Outcome, "%s, seed %d: %s %v", release.Name, v.Seed, v.Reason, v.Violations)
		}
	}
}

// Old code draws random numbers in its own ways. A seed must still give one run, whatever ran
// before it in the process.
func TestASeedGivesOneRunOfARelease(t *testing.T) {
	hashes := func(verdicts []scenario.Verdict) map[uint64]string {
		all := map[uint64]string{}
		for _, v := range verdicts {
			all[v.Seed] = v.Hash
		}
		return all
	}
	for _, release := range target.Releases() {
		once := hashes(run(t, release.Name, "", "storm", nil, 1, 6))
		again := hashes(run(t, release.Name, "", "storm", nil, 4, 6))
		for seed, hash := range again {
			require.Equal(t, once[seed], hash, "%s, seed %d", release.Name, seed)
		}
	}
}

// kubernetes/kubernetes #116122, in the release itself: a watch that registers while the cache
// reinitialises survives, and misses what happened in between. No seed fails with the fix of
// #116172, so the harness does not cause it.
func TestKubernetes026MissesEvents(t *testing.T) {
	hunt(t, "kubernetes-0.26", "kubernetes-0.26-A01-fixed", "reinit", nil, 200)
}

// etcd-io/etcd #18089, in the release itself: a compaction at the revision of a deletion removes
// the deletion, and a watch from there never gets it. With the fix of #18274 no seed fails except
// by finding 3, whose cache delivers nothing for 30 seconds after a compaction.
func TestEtcd35LosesADeletion(t *testing.T) {
	hunt(t, "etcd-3.5", "etcd-3.5-E08-fixed", "tombstone", nil, 20, linearizability.Delivered.Name)
}

// Finding 1, in the older of the two maintained minor releases of Kubernetes and etcd: after outages of
// encryption a cache attributes the progress of an old watch to its new one.
func TestKubernetes036HasFinding1(t *testing.T) {
	hunt(t, "kubernetes-0.36", "fix-finding-1", "reinit", []string{"transform-failure"}, 100)
}

// hunt runs seeds in batches until some of them show a release's bug, and then as many with its fix, of which none may
// fail, except by breaking only the named guarantees. How many it takes is chance: any change of the runs selects other
// seeds.
func hunt(t *testing.T, release, fix, name string, kinds []string, atATime uint64, besides ...string) {
	t.Helper()
	var seeds []uint64
	var tried uint64
	for tried < *last && len(seeds) == 0 {
		seeds = failed(t, run(t, release, "", name, kinds, tried+1, tried+atATime))
		tried += atATime
	}
	require.NotEmpty(t, seeds, "none of seeds 1 to %d fails", tried)
	t.Logf("of seeds %d to %d these fail, and none before: %v", tried-atATime+1, tried, seeds)
	require.Empty(t, failed(t, run(t, release, fix, name, kinds, 1, tried), besides...))
}

// failed returns the seeds that broke a guarantee other than the named ones, in ascending order. No
// run may be inconclusive.
func failed(t *testing.T, verdicts []scenario.Verdict, besides ...string) (seeds []uint64) {
	t.Helper()
	for _, v := range verdicts {
		require.NotEqual(t, linearizability.Inconclusive, v.Outcome, "seed %d: %s", v.Seed, v.Reason)
		if slices.ContainsFunc(v.Violations, func(broken scenario.Violation) bool { return !slices.Contains(besides, broken.Guarantee) }) {
			seeds = append(seeds, v.Seed)
		}
	}
	slices.Sort(seeds)
	return seeds
}
