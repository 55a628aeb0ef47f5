package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

// bug is a mutant for tests; nothing is built of it.
var bug = mutant.Mutant{Name: "bug", Summary: "It breaks.", Source: "a|b #1", File: "f.go", Anchor: "a", Replacement: "b", Hunt: []string{"--scenario", "calm"}}

// fake is a runner of invented runs: with and without give the outcome of a seed with the bug on,
// and without it.
func fake(with, without func(seed uint64) (verdict, error)) runner {
	return func(_ context.Context, on string, spec scenario.Spec) (verdict, time.Duration, error) {
		outcome := without
		if on != "" {
			outcome = with
		}
		v, err := outcome(spec.Seed)
		return v, time.Second, err
	}
}

// failing is the outcome of runs in which these seeds break Reliable and the others pass.
func failing(seeds ...uint64) func(uint64) (verdict, error) {
	return func(seed uint64) (verdict, error) {
		if slices.Contains(seeds, seed) {
			return broken("a gap\nand more"), nil
		}
		return verdict{Verdict: scenario.Verdict{Outcome: linearizability.Passed}}, nil
	}
}

func broken(text string) verdict {
	return verdict{Verdict: scenario.Verdict{
		Outcome:    linearizability.Failed,
		Violations: []scenario.Violation{{Report: linearizability.Report{Guarantee: "Reliable", Text: text}}},
	}}
}

// tookTooLong is the outcome of runs that a time limit has ended.
func tookTooLong(uint64) (verdict, error) {
	return verdict{Verdict: scenario.Verdict{Outcome: linearizability.Failed,
		Violations: []scenario.Violation{scenario.Unfinished(string(fork.TookTooLong), "", "")}}}, nil
}

// undecidedFor is the outcome of runs that are inconclusive for a reason.
func undecidedFor(reason string) func(uint64) (verdict, error) {
	return func(uint64) (verdict, error) {
		return verdict{Verdict: scenario.Verdict{Outcome: linearizability.Inconclusive, Reason: reason}}, nil
	}
}

// newHunter returns a hunter with invented runs.
func newHunter(t *testing.T, with, without func(uint64) (verdict, error)) *hunter {
	t.Helper()
	o := options{trials: 1, seeds: 10, jobs: 1, time: time.Hour, results: filepath.Join(t.TempDir(), "hunt.jsonl")}
	results, err := openResults(o.results)
	require.NoError(t, err)
	t.Cleanup(results.close)
	return &hunter{options: o, run: fake(with, without), spec: named, results: results, stdout: &bytes.Buffer{}}
}

// named returns the spec of a mutant whose flags only name a scenario.
func named(_ context.Context, m mutant.Mutant) (scenario.Spec, error) {
	return scenario.Named(m.Hunt[1])
}

// script writes a program for the shell that stands in for a binary, and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stand-in")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

// tried returns a trial of a hunter.
func tried(t *testing.T, h *hunter, m mutant.Mutant, number, seeds int) result {
	t.Helper()
	r, err := h.trial(t.Context(), m, number, seeds)
	require.NoError(t, err)
	return r
}

func TestATrialEndsAtTheFirstFailureThatIsTheBugs(t *testing.T) {
	hangs := func(uint64) (verdict, error) {
		return verdict{Verdict: scenario.Verdict{Outcome: linearizability.Inconclusive,
			Reasons: []linearizability.Reason{{Code: linearizability.ReasonCode(sim.TimeBudget)}}}}, nil
	}
	tries := 0
	slowAtFirst := func(seed uint64) (verdict, error) {
		if tries++; tries == 1 {
			return tookTooLong(seed)
		}
		return failing()(seed)
	}
	reliable := []string{"Reliable"}
	for _, row := range []struct {
		name          string
		with, without func(uint64) (verdict, error)
		trial, seeds  int
		want          result // each run takes a second
	}{
		{"a seed fails without the edit, too", failing(3, 5, 7), failing(3), 1, 10,
			result{Found: 5, Seeds: 5, Unconfirmed: []uint64{3}, Guarantees: reliable, Witness: "a gap", Seconds: 5 + 2}},
		{"a later trial has seeds of its own", failing(1_000_004), failing(), 2, 10, result{Found: 1_000_004, Seeds: 4, Guarantees: reliable, Seconds: 4 + 1}},
		{"nothing fails", failing(), failing(), 1, 10, result{Seeds: 10, Seconds: 10}},
		{"nothing is decided", undecidedFor("too quiet"), failing(), 1, 3, result{Seeds: 3, Inconclusive: 3, Seconds: 3,
			Undecided: []undecided{{1, "too quiet"}, {2, "too quiet"}, {3, "too quiet"}}}},
		{"a run never ends", hangs, failing(), 1, 1, result{Found: 1, Seeds: 1, Guarantees: []string{"(never ends)"}, Seconds: 1 + 1}},
		{"a run never ends without the edit, too", hangs, hangs, 1, 1, result{Seeds: 1, Unconfirmed: []uint64{1}, Seconds: 1 + 1}},
		{"a comparison that took too long is made again", failing(1), slowAtFirst, 1, 1,
			result{Found: 1, Seeds: 1, Guarantees: reliable, Witness: "a gap", Seconds: 1 + 2}},
		{"a run that took too long proves nothing", tookTooLong, failing(), 1, 1, result{Seeds: 1, Inconclusive: 1, Undecided: []undecided{{Seed: 1}}, Seconds: 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := tried(t, newHunter(t, row.with, row.without), bug, row.trial, row.seeds)
			want := row.want
			want.Mutant, want.Key, want.Hunt, want.Trial, want.First = r.Mutant, r.Key, r.Hunt, row.trial, r.First
			want.Budget, want.Wall = row.seeds, r.Wall
			require.Equal(t, want, r)
		})
	}
}

func TestAFailureThatTheBugCannotCauseIsNotTheBugs(t *testing.T) {
	h := newHunter(t, failing(3), failing())
	other := bug
	other.Breaks = []string{"Unique"}
	r := tried(t, h, other, 1, 10)
	require.Zero(t, r.Found, "the failure is one of Reliable")
	require.Equal(t, []uint64{3}, r.Unconfirmed)
	require.NotEqual(t, keyOf(bug), keyOf(other), "its results are not taken for those of the other")
}

func TestATrialThatRunsOutOfTimeSaysHowFarItGot(t *testing.T) {
	h := newHunter(t, failing(), failing())
	h.options.time = 3 * time.Second
	r := tried(t, h, bug, 1, 10)
	require.Equal(t, 3, r.Seeds)
	require.Equal(t, 3, r.Budget)
}

func TestARunThatCannotBeMadeIsAnError(t *testing.T) {
	impossible := func(uint64) (verdict, error) { return verdict{}, errors.New("no such target") }
	_, err := newHunter(t, impossible, failing()).trial(context.Background(), bug, 1, 10)
	require.ErrorContains(t, err, "hunting bug: no such target")
	_, err = newHunter(t, failing(1), impossible).trial(context.Background(), bug, 1, 10)
	require.ErrorContains(t, err, "no such target")

	odd := bug
	odd.Hunt = []string{"--scenario", "nowhere"}
	_, err = newHunter(t, failing(), failing()).trial(context.Background(), odd, 1, 10)
	require.ErrorContains(t, err, "nowhere")
}

func TestTrialsThatWereMadeAreNotMadeAgain(t *testing.T) {
	h := newHunter(t, failing(2, 1_000_003), failing())
	h.options.trials = 2
	require.NoError(t, h.results.add(result{Mutant: bug.Name, Key: keyOf(bug), Trial: 1, Seeds: 2, Found: 2, Budget: 10}))
	require.NoError(t, h.mutant(context.Background(), bug))
	trials := h.trials(bug)
	require.Len(t, trials, 2)
	require.EqualValues(t, 1_000_003, trials[1].Found)

	h = newHunter(t, failing(4), failing())
	h.options.time = 3 * time.Second
	for range 2 {
		require.NoError(t, h.mutant(context.Background(), bug))
		require.Len(t, h.results.all, 1, "its time was used up")
	}
	h.options.time = 5 * time.Second
	require.NoError(t, h.mutant(context.Background(), bug))
	require.EqualValues(t, 4, h.trials(bug)[0].Found)
}

func TestAnEditWithoutEffectIsToldFromOneThatWasMissed(t *testing.T) {
	hashed := func(differs uint64) func(uint64) (verdict, error) {
		return func(seed uint64) (verdict, error) {
			v, err := failing()(seed)
			if v.Hash = fmt.Sprint(seed); seed == differs {
				v.Hash = "another"
			}
			return v, err
		}
	}
	for _, row := range []struct {
		differs  uint64
		noEffect bool
	}{{0, true}, {1, false}, {10, false}, {11, true}} {
		r := tried(t, newHunter(t, hashed(row.differs), hashed(0)), bug, 1, 10)
		require.Equal(t, row.noEffect, r.NoEffect, "seed %d differs", row.differs)
		require.Equal(t, row.noEffect, strings.Contains(r.text(), "never took effect"), r.text())
	}
	r := tried(t, newHunter(t, failing(), failing()), bug, 1, 10)
	require.False(t, r.NoEffect, "runs without a hash prove nothing")
}

func TestInconclusiveSeedsAreNamedWithTheirReasons(t *testing.T) {
	quiet := undecidedFor("too quiet")
	with := func(seed uint64) (verdict, error) {
		if seed == 2 {
			return undecidedFor("too long")(seed)
		}
		return quiet(seed)
	}
	r := tried(t, newHunter(t, with, failing()), bug, 1, 8)
	require.Contains(t, r.text(), "8 inconclusive, 1 3 4 5 6 and 2 more: too quiet, 2: too long;")
}

func TestResultsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", "hunt.jsonl")
	r, err := openResults(path)
	require.NoError(t, err)
	require.NoError(t, r.add(result{Mutant: bug.Name, Key: keyOf(bug), Trial: 1, Seeds: 3, Found: 3}))
	r.close()

	again, err := openResults(path)
	require.NoError(t, err)
	require.Len(t, trialsOf(again.all, bug), 1)
	require.NoError(t, again.add(result{Mutant: bug.Name, Key: keyOf(bug), Trial: 1, Seeds: 9}))
	require.Len(t, trialsOf(again.all, bug), 1)
	require.Equal(t, 9, trialsOf(again.all, bug)[0].Seeds, "the trial as it was made last")
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
	require.Equal(t, "bug never took effect in 100 seeds", judge(bug, []result{{Seeds: 100, NoEffect: true}}))
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
	require.Contains(t, text, "| waiting | "+halfOf(waiting)+" | Later. | d #3 | `simrun --mutant waiting ")
	require.Contains(t, text, "| bug | "+halfOf(bug)+" | a\\|b #1 | It breaks. | `f.go` | Ordered, Unique | `simrun --mutant bug --scenario calm --seeds 1-5000` | 4 of 4 | 2, 40 | 2.0 s | TestA and 2 more |")
	require.Contains(t, text, "| unseen | "+halfOf(unseen)+" | Rare. | c #2 | no such fault; 500 seeds of `simrun --mutant unseen --scenario calm --seeds 1-5000` |")
	require.Contains(t, text, "| control | Same. | it is the same | 100 | 0 |")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "|---") {
			require.NotContains(t, line, " ")
		}
	}
}

func TestOnlyTheMutantsThatAreNamed(t *testing.T) {
	names := func(o options) []string {
		chosen, err := choose(o)
		require.NoError(t, err)
		return namesOf(chosen)
	}
	require.Equal(t, []string{"A03", "A01", "A03-initial"}, names(options{only: "A03,A01,A0*"})[:3])
	require.Greater(t, len(names(options{only: "cacher-*"})), 10)
	require.Less(t, len(names(options{short: true})), len(names(options{})))
	for short, runs := range map[bool][]string{false: everywhere, true: {"--scenario", "minute"}} {
		chosen, err := choose(options{only: "canary", short: short})
		require.NoError(t, err)
		require.Equal(t, runs, chosen[0].Hunt, "a short hunt is in the runs that the mutant names")
	}
	require.NotContains(t, names(options{}), "fix-finding-1", "it is no bug, and other findings show in its runs")
	require.Equal(t, []string{"fix-finding-1"}, names(options{only: "fix-finding-1"}))
	_, err := choose(options{only: "A99"})
	require.ErrorIs(t, err, mutant.ErrUnknown)
	_, err = choose(options{only: "A14", short: true})
	require.ErrorContains(t, err, "leave none")
	require.Len(t, names(options{}), len(names(options{half: tuned}))+len(names(options{half: heldOut})))
}

func TestBadUsageIsOneSentence(t *testing.T) {
	for _, args := range [][]string{{"more"}, {"--seeds", "0"}, {"--only", "A99"}, {"--half", "both"}, {"--target", "mars"}, {"--use", "k8s.io/apiserver=v0.37.1"}} {
		var stderr bytes.Buffer
		require.Equal(t, notHunted, run(context.Background(), args, &bytes.Buffer{}, &stderr))
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	}
}

func TestReleasedCodeIsFixedWhileBugsAreHuntedInIt(t *testing.T) {
	require.Equal(t, "A01,fix-finding-1,fix-etcd-client,fix-finding-8", switches("A01", "kubernetes"))
	require.Equal(t, "fix-finding-1,fix-etcd-client,fix-finding-8", switches("", "kubernetes"))
	require.Equal(t, "fix-finding-1", switches("fix-finding-1", "kubernetes"), "a fix alone, to measure its effect")
	require.Equal(t, "cacher-A01,fix-etcd-client", switches("cacher-A01", "cacher"))
	require.Contains(t, switches("CT01-ds,CT03", "controlplane"), "CT01-ds,CT03,fix-finding-1,")
	require.Contains(t, switches("", "controlplane"), ",fix-finding-9,fix-finding-10,")
	for _, names := range fixes {
		for _, name := range names {
			m, err := mutant.Find(name)
			require.NoError(t, err)
			require.NotEmpty(t, m.Equivalent)
		}
	}
}
