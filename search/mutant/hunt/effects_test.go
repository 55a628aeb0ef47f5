package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// A stand-in for the tests' binary: three seeds, the second of which fails with any mutant, and the last of which changes with "acts".
const threeSeeds = `for argument; do
	case $argument in
	-simtest.report=*) report=${argument#*=} ;;
	-simtest.seeds=3-3) last=yes ;;
	esac
done
third=c
case $WATCHSIM_MUTANT in acts*) third=d ;; unbooted*) echo "the cluster did not boot: refused"; exit 1 ;; esac
if [ -n "$last" ]; then
	echo '{"passed": 1, "hashes": {"3": "'$third'"}}' > $report
else
	echo '{"passed": 1, "hashes": {"1": "a"}, "failure": {"seed": 2, "hash": "b"}}' > $report
	exit 1
fi
`

func TestMutantsThatChangeNoRunAreNamed(t *testing.T) {
	h := newHunter(t, failing(), failing())
	h.options.probe, h.options.jobs, h.options.target = 3, 1, "controlplane"
	target := &selfbuild.Tested{Name: "controlplane", Scenarios: []selfbuild.TestedScenario{{Test: "TestAny"}}}
	without, err := h.testedEffects(t.Context(), script(t, threeSeeds), target, []mutant.Mutant{{Name: "acts"}, {Name: "idles"}, {Name: "unbooted"}})
	require.NoError(t, err)
	require.Equal(t, []string{"idles changes no run"}, without)
	require.Equal(t, `acts             changes 1 of 3 runs of TestAny
idles            changes 0 of 3 runs of TestAny
unbooted         changes 3 of 3 runs of TestAny
`, h.stdout.(interface{ String() string }).String())
}
