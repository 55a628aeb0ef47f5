package simrun

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/etcd"
)

// Targets of your own are complete, and a store in etcd's place is the only member in any scenario.
func TestTargetsOfOnesOwn(t *testing.T) {
	was := targets
	t.Cleanup(func() { targets = was })
	store := &etcd.Store{
		Start:     func(etcd.StoreConfig) (services etcd.Services, err error) { return services, err },
		Committed: func(string) ([]etcd.Commit, error) { return nil, nil },
	}
	for says, own := range map[string][]Target{
		"a name and a function that makes it":            {{Name: "mine"}},
		"can be started and tells what was committed":    {{Name: "mine", Store: &etcd.Store{Start: store.Start}}},
		`that no other target has, found "kubernetes"`:   {{Name: "kubernetes", New: newKubernetes}},
		`that no other target has, found "mine" twice`:   {{Name: "mine", Store: store}, {Name: "mine", Store: store}},
		"expected a target with a name and a function t": {{Store: store}},
	} {
		require.ErrorContains(t, add(own), says)
	}
	require.NoError(t, add([]Target{{Name: "mine", Store: store}}))
	require.Equal(t, "mine", targets[0].Name)
	made, err := findTarget("mine")
	require.NoError(t, err)
	require.Equal(t, "kubernetes", made.Name(), "the cache above a store, if there is no other")

	for _, scenario := range []string{"any", "quorum", "storm"} {
		require.Contains(t, inProcess(t, "spec", "--scenario", scenario), `"members":1,`)
		require.Contains(t, inProcess(t, "spec", "--scenario", scenario, "--target", "etcd3", "--etcd-members", "3"), `"members":3,`)
		code, stdout, stderr := runHere("spec", "--scenario", scenario, "--etcd-members", "3")
		requireRefused(t, "--etcd-members: expected 1 for the target mine, whose store is the only member, found 3", code, stdout, stderr)
	}
}

// Every scenario of a tested target is a test there.
func TestScenariosThatAreTestsAreThere(t *testing.T) {
	for _, target := range testedTargets {
		files, err := filepath.Glob(filepath.Join("..", target.Tests.Module, target.Tests.Package, "*_test.go"))
		require.NoError(t, err)
		var all strings.Builder
		for _, file := range files {
			all.WriteString(content(t, file))
		}
		for _, one := range target.Scenarios {
			require.Contains(t, all.String(), "\nfunc "+one.Test+"(t *testing.T)", one.Name)
		}
	}
}
