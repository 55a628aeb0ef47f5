package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim/mutant"
)

// bug is a mutant for tests; nothing is built of it.
var bug = mutant.Mutant{Name: "bug", Summary: "It breaks.", Source: "a|b #1", File: "f.go", Anchor: "a", Replacement: "b", Hunt: []string{"--scenario", "calm"}}

// script is a stand-in for simrun: a shell script that may use $first and $last, the
// seeds it was given, and line SEED OUTCOME, which prints a verdict.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "simrun")
	text := `#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in
	--seeds) first=${2%-*} last=${2#*-} ;;
	--seed) first=$2 last=$2 ;;
	esac
	shift
done
line() { printf '{"seed":%s,"verdict":"%s","violations":[{"guarantee":"Reliable","text":"a gap\\nand more"}]}\n' $1 $2; }
` + body + "\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

// newHunter is a hunter whose simrun is one script with the bug, and another without.
func newHunter(t *testing.T, damaged, plain string) *hunter {
	t.Helper()
	o := options{trials: 1, seeds: 10, time: time.Minute, results: filepath.Join(t.TempDir(), "hunt.jsonl")}
	results, err := openResults(o.results)
	require.NoError(t, err)
	t.Cleanup(results.close)
	return &hunter{options: o, results: results, stdout: &bytes.Buffer{}, binary: script(t, `if [ -n "$WATCHSIM_MUTANT" ]; then `+damaged+`
else `+plain+`
fi`)}
}

// failing prints verdicts for the seeds asked for, of which some fail.
func failing(seeds string) string {
	return strings.ReplaceAll(`for seed in $(seq $first $last); do case $seed in @) line $seed failed ;; *) line $seed passed ;; esac; done`, "@", seeds)
}

func TestATrialEndsAtTheFirstFailureThatIsTheBugs(t *testing.T) {
	h := newHunter(t, failing("3|5|7"), failing("3"))
	r, err := h.trial(context.Background(), bug, 1, 10)
	require.NoError(t, err)
	require.EqualValues(t, 5, r.Found, "seed 3 fails without the edit, too")
	require.Equal(t, 5, r.Seeds)
	require.Equal(t, []uint64{3}, r.Unconfirmed)
	require.Equal(t, []string{"Reliable"}, r.Guarantees)
	require.Equal(t, "a gap", r.Witness)
}

func TestAFailureThatTheBugCannotCauseIsNotTheBugs(t *testing.T) {
	h := newHunter(t, failing("3"), failing("none"))
	other := bug
	other.Breaks = []string{"Unique"}
	r, err := h.trial(context.Background(), other, 1, 10)
	require.NoError(t, err)
	require.Zero(t, r.Found, "the failure is one of Reliable")
	require.Equal(t, []uint64{3}, r.Unconfirmed)
	require.NotEqual(t, keyOf(bug), keyOf(other), "its results are not taken for those of the other")
}

func TestTrialsHaveSeedsOfTheirOwn(t *testing.T) {
	h := newHunter(t, failing("1000004"), failing("none"))
	r, err := h.trial(context.Background(), bug, 2, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1_000_004, r.Found)
	require.Equal(t, 4, r.Seeds)
}

func TestATrialWithoutAFailureUsesItsBudget(t *testing.T) {
	h := newHunter(t, `for seed in $(seq $first $last); do line $seed inconclusive; done; exit 3`, "false")
	r, err := h.trial(context.Background(), bug, 1, 10)
	require.NoError(t, err)
	require.Zero(t, r.Found)
	require.Equal(t, 10, r.Seeds)
	require.Equal(t, 10, r.Inconclusive)
	require.Equal(t, 10, r.Budget)
}

func TestATrialThatRunsOutOfTimeSaysHowFarItGot(t *testing.T) {
	h := newHunter(t, failing("none"), "false")
	h.options.time = time.Nanosecond
	r, err := h.trial(context.Background(), bug, 1, 2*chunkSeeds)
	require.NoError(t, err)
	require.Equal(t, chunkSeeds, r.Seeds)
	require.Equal(t, chunkSeeds, r.Budget)
}

func TestATrialGoesOnWithTheNextChunk(t *testing.T) {
	h := newHunter(t, failing("260"), failing("none"))
	r, err := h.trial(context.Background(), bug, 1, 2*chunkSeeds)
	require.NoError(t, err)
	require.EqualValues(t, 260, r.Found)
	require.Equal(t, 260, r.Seeds)
	require.Equal(t, 2*chunkSeeds, r.Budget)
}

func TestARunThatNeverEndsIsTheBugsIfItEndsWithout(t *testing.T) {
	hangs := `echo '{"seed":1,"verdict":"inconclusive","reason":"the budget of simulated time is used up","violations":[]}'`
	r, err := newHunter(t, hangs, failing("none")).trial(context.Background(), bug, 1, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Found)
	require.Equal(t, []string{"(never ends)"}, r.Guarantees)

	r, err = newHunter(t, hangs, hangs).trial(context.Background(), bug, 1, 1)
	require.NoError(t, err)
	require.Zero(t, r.Found, "it hangs without the edit, too")
}

func TestAComparisonThatTookTooLongIsMadeAgain(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	plain := `if [ -e ` + once + ` ]; then line 1 passed; else touch ` + once + `; line 1 failed | sed 's/a gap.*more/seed 1 took longer than 2m0s/'; fi`
	r, err := newHunter(t, failing("1"), plain).trial(context.Background(), bug, 1, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Found)
}

func TestARunThatTookTooLongProvesNothing(t *testing.T) {
	h := newHunter(t, `line $first failed | sed 's/a gap.*more/seed 1 took longer than 2m0s/'`, failing("none"))
	r, err := h.trial(context.Background(), bug, 1, 1)
	require.NoError(t, err)
	require.Zero(t, r.Found)
	require.Equal(t, 1, r.Inconclusive)
}

func TestARunThatCannotBeMadeIsAnError(t *testing.T) {
	_, err := newHunter(t, `echo "no such scenario" >&2; exit 2`, "false").trial(context.Background(), bug, 1, 10)
	require.ErrorContains(t, err, "hunting bug")
	require.ErrorContains(t, err, "no such scenario")

	_, err = newHunter(t, "echo nonsense", "false").trial(context.Background(), bug, 1, 10)
	require.ErrorContains(t, err, "expected a verdict as JSON")

	_, err = newHunter(t, "line $first passed", "false").trial(context.Background(), bug, 1, 10)
	require.ErrorContains(t, err, "expected verdicts on seeds 1 to 10, found 9 less")

	_, err = newHunter(t, failing("1"), `echo "cannot compare" >&2; exit 2`).trial(context.Background(), bug, 1, 10)
	require.ErrorContains(t, err, "cannot compare")
}

func TestResultsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", "hunt.jsonl")
	r, err := openResults(path)
	require.NoError(t, err)
	require.NoError(t, r.add(result{Mutant: bug.Name, Key: keyOf(bug), Trial: 1, Seeds: 3, Found: 3}))
	r.close()

	again, err := openResults(path)
	require.NoError(t, err)
	require.Len(t, again.trials(bug), 1)
	require.NoError(t, again.add(result{Mutant: bug.Name, Key: keyOf(bug), Trial: 1, Seeds: 9}))
	require.Len(t, again.trials(bug), 1)
	require.Equal(t, 9, again.trials(bug)[0].Seeds, "the trial as it was made last")
	again.close()

	edited := bug
	edited.Replacement = "c"
	require.Empty(t, trialsOf(again.all, edited), "results of another edit")

	require.NoError(t, os.WriteFile(path, []byte("{}\nnonsense\n"), 0o600))
	_, err = openResults(path)
	require.ErrorContains(t, err, path+":2")
}

func TestVerdictsOnMutants(t *testing.T) {
	found, nothing := result{Found: 7, Seeds: 7}, result{Seeds: 100}
	control := mutant.Mutant{Name: "control", Equivalent: "it is the same"}
	unseen := mutant.Mutant{Name: "unseen", Unseen: "no such fault"}
	require.Empty(t, judge(bug, []result{nothing, found}))
	require.Equal(t, "bug was not found in 200 seeds", judge(bug, []result{nothing, nothing}))
	require.Equal(t, "bug was not hunted", judge(bug, nil))
	require.Empty(t, judge(control, []result{nothing}))
	require.Equal(t, "control is no bug, and 1 of 2 trials found one", judge(control, []result{nothing, found}))
	require.Empty(t, judge(unseen, []result{nothing}))
}

func TestTheTable(t *testing.T) {
	control := mutant.Mutant{Name: "control", Summary: "Same.", Equivalent: "it is the same", Hunt: bug.Hunt}
	unseen := mutant.Mutant{Name: "unseen", Summary: "Rare.", Source: "c #2", Unseen: "no such fault", Hunt: bug.Hunt}
	var results []result
	for i, seeds := range []int{1, 2, 3, 40} {
		results = append(results, result{Mutant: "bug", Key: keyOf(bug), Trial: i + 1, Seeds: seeds, Found: uint64(seeds), Seconds: float64(seeds), Guarantees: []string{"Unique", "Ordered"}})
	}
	results = append(results,
		result{Mutant: "bug", Key: suiteKeyOf(bug), Suite: "p", Red: []string{"TestA", "TestB", "TestC"}},
		result{Mutant: "control", Key: keyOf(control), Trial: 1, Seeds: 100},
		result{Mutant: "unseen", Key: keyOf(unseen), Trial: 1, Seeds: 500})
	waiting := mutant.Mutant{Name: "waiting", Summary: "Later.", Source: "d #3", Hunt: bug.Hunt}
	text := table([]mutant.Mutant{bug, unseen, waiting, control}, results)
	require.Contains(t, text, "2 hunted, 1 found,\nand 1 not hunted yet")
	require.Contains(t, text, "| waiting | Later. | d #3 | `simrun --mutant waiting ")
	require.Contains(t, text, "| bug | a\\|b #1 | It breaks. | `f.go` | Ordered, Unique | `simrun --mutant bug --scenario calm --seeds 1-5000` | 4 of 4 | 2, 40 | 2 s | TestA and 2 more |")
	require.Contains(t, text, "| unseen | Rare. | c #2 | no such fault; 500 seeds of `simrun --mutant unseen --scenario calm --seeds 1-5000` |")
	require.Contains(t, text, "| control | Same. | it is the same | 100 | 0 |")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "|---") {
			require.NotContains(t, line, " ")
		}
	}
}

func TestOnlyTheMutantsThatAreNamed(t *testing.T) {
	names := func(o options) (names []string) {
		chosen, err := choose(o)
		require.NoError(t, err)
		for _, m := range chosen {
			names = append(names, m.Name)
		}
		return names
	}
	require.Equal(t, []string{"A01", "A03"}, names(options{only: "A03,A01"}))
	require.Greater(t, len(names(options{only: "cacher-*"})), 10)
	require.Less(t, len(names(options{short: true})), len(names(options{})))
	_, err := choose(options{only: "A99"})
	require.ErrorIs(t, err, mutant.ErrUnknown)
	_, err = choose(options{only: "A14", short: true})
	require.ErrorContains(t, err, "found none with a budget")
}

func TestBadUsageIsOneSentence(t *testing.T) {
	for _, args := range [][]string{{"more"}, {"--seeds", "0"}, {"--only", "A99"}} {
		var stderr bytes.Buffer
		require.Equal(t, notHunted, run(context.Background(), args, &bytes.Buffer{}, &stderr))
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	}
}
