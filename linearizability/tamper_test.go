package linearizability_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// tampering edits one kind of record in one way. If no correct server can have done what
// the edited history says, the oracle must notice; otherwise it may or may not.
type tampering struct {
	subject, edit string
	// places are where a history can be edited so.
	places func(*model.History) []tampered
	// silence says why the oracle need not notice, where it does not.
	silence string
	// want are the guarantees of which one is reported wherever the edit is made, empty if
	// that depends on the place.
	want guarantees
}

func (k *tampering) name() string { return k.subject + ": " + k.edit }

// tampered is one edit of one record.
type tampered struct {
	apply func()
	// harmless reports whether a correct server can have done what the edited history
	// says. It is called only if the oracle noticed nothing.
	harmless func(*secondOpinion) bool
}

// at is an edit of each record that find returns. Without harmless, each must be noticed.
func at[T any](subject, edit, silence string, find func(*model.History) []T, apply func(*model.History, T),
	harmless func(T, *secondOpinion) bool) tampering {
	return tampering{subject: subject, edit: edit, silence: silence, places: func(h *model.History) []tampered {
		var all []tampered
		for _, record := range find(h) {
			all = append(all, tampered{func() { apply(h, record) }, func(o *secondOpinion) bool { return harmless != nil && harmless(record, o) }})
		}
		return all
	}}
}

// breaks is an edit that breaks one of some guarantees wherever it is made.
func breaks[T any](subject, edit string, find func(*model.History) []T, apply func(*model.History, T), want ...*linearizability.Guarantee) tampering {
	return at(subject, edit, "", find, apply, nil).as(want...)
}

// as requires that one of these guarantees is reported.
func (k tampering) as(want ...*linearizability.Guarantee) tampering {
	k.want = want
	return k
}

// inflict makes the edit at one of its places, and reports whether there is one.
func (k *tampering) inflict(c chooser, h *model.History) bool {
	places := k.places(h)
	if len(places) > 0 {
		places[c.below(len(places))].apply()
	}
	return len(places) > 0
}

// where returns the elements of a list for which keep holds.
func where[T any](list []T, keep func(*T) bool) []*T {
	var kept []*T
	for i := range list {
		if keep(&list[i]) {
			kept = append(kept, &list[i])
		}
	}
	return kept
}

var (
	tamperHistories = flag.Int("tamper-histories", 3, "how many generated histories to tamper with")
	tamperPlaces    = flag.Int("tamper-places", 1, "at how many places of each")
	tamperUpdate    = flag.Bool("tamper-update", false, "rewrite docs/oracle-tampering.md")
)

const (
	tamperPage = "../docs/oracle-tampering.md"
	// certainHistories are the histories to edit at least where one guarantee is certain to break.
	certainHistories = 60
)

// tamperings are all ways to edit a history.
var tamperings = slices.Concat(eventTamperings, streamTamperings, resumptionTamperings, listTamperings, getTamperings,
	writeTamperings, informerTamperings, serverTamperings, recordTamperings, exchangeTamperings, mutationTamperings)

// certain are those that always break a guarantee.
var certain = slices.DeleteFunc(slices.Clone(tamperings), func(k tampering) bool { return len(k.want) == 0 })

// tamperTally counts the edits of one kind.
type tamperTally struct {
	tried, noticed int
	by             map[string]int // the guarantee that was reported first
}

func (t *tamperTally) note(verdict linearizability.Verdict) {
	t.tried++
	if verdict.Outcome == linearizability.Failed {
		t.noticed++
		t.by[verdict.Violations[0].Guarantee.Name]++
	}
}

// guaranteesReported lists the guarantees, the most often reported first.
func (t *tamperTally) guaranteesReported() string {
	mostFirst := func(a, b string) int { return cmp.Or(t.by[b]-t.by[a], cmp.Compare(a, b)) }
	return strings.Join(slices.SortedFunc(maps.Keys(t.by), mostFirst), ", ")
}

// tamper makes one kind of edit in one history repeatedly, each time in a copy, and
// returns the edits that should have been noticed but were not.
func tamper(t require.TestingT, kind tampering, seed uint64, tally *tamperTally) (missed []string) {
	for n := range *tamperPlaces {
		h := generate(randomChooser{rand.New(rand.NewPCG(seed, 6))}, 150)
		places := kind.places(h)
		if n >= len(places) {
			break
		}
		i := rand.New(rand.NewPCG(seed, 7)).Perm(len(places))[n]
		places[i].apply()
		verdict := linearizability.Check(h, lenient())
		see(t, verdict)
		tally.note(verdict)
		if len(kind.want) > 0 {
			requireOneOf(t, verdict, kind.want, fmt.Sprintf("%s: history %d, place %d", kind.name(), seed, i))
		}
		if verdict.Outcome == linearizability.Passed && !places[i].harmless(newSecondOpinion(h)) {
			missed = append(missed, fmt.Sprintf("%s: history %d, place %d", kind.name(), seed, i))
		}
	}
	return missed
}

func requireOneOf(t require.TestingT, verdict linearizability.Verdict, want guarantees, edit string) {
	reported := slices.ContainsFunc(verdict.Violations, func(v linearizability.Violation) bool { return slices.Contains(want, v.Guarantee) })
	require.True(t, reported, "%s: want one of %v, got %v", edit, want, verdict.Violations)
}

// TestTamperingIsNoticed makes all edits at some places of some histories, and requires
// that each one is noticed if it must be.
func TestTamperingIsNoticed(t *testing.T) {
	tallies := make([]tamperTally, len(tamperings))
	var missed []string
	for i, kind := range tamperings {
		tallies[i].by = map[string]int{}
		histories, minTried := *tamperHistories, 1
		if len(kind.want) > 0 {
			histories, minTried = max(histories, certainHistories), 6 // few histories have a place for some
		}
		for seed := range uint64(histories) {
			missed = append(missed, tamper(t, kind, seed, &tallies[i])...)
		}
		require.GreaterOrEqual(t, tallies[i].tried, minTried, "too few histories have a place for: %s", kind.name())
		if kind.silence == "" && tallies[i].noticed < tallies[i].tried {
			missed = append(missed, fmt.Sprintf("%s: nothing excuses that %d of %d were not noticed", kind.name(),
				tallies[i].tried-tallies[i].noticed, tallies[i].tried))
		}
	}
	if *tamperUpdate {
		require.NoError(t, os.WriteFile(tamperPage, []byte(tamperTable(tallies)), 0o644))
	}
	require.Empty(t, missed, "the oracle did not notice:\n%s", strings.Join(missed, "\n"))
}

// TestAnyTamperingIsNoticed is the same for edits that break a guarantee for certain, of
// histories that shrink.
func TestAnyTamperingIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(certain).Draw(t, "edit")
		h := generate(rapidChooser{t}, rapid.IntRange(20, 100).Draw(t, "steps"))
		if kind.inflict(rapidChooser{t}, h) {
			requireOneOf(t, linearizability.Check(h, lenient()), kind.want, kind.name())
		}
	})
}

// TestTamperingIsDocumented requires a row for each kind of edit. The counts are of
// the run that wrote the page.
func TestTamperingIsDocumented(t *testing.T) {
	page, err := os.ReadFile(tamperPage)
	require.NoError(t, err)
	for _, kind := range tamperings {
		require.Contains(t, string(page), fmt.Sprintf("| %s | %s | ", kind.subject, kind.edit), "run make tamper")
	}
}

// tamperTable renders the results of the edits.
func tamperTable(tallies []tamperTally) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What tampering the oracle notices

`+"`make tamper`"+` writes this page. It edits generated histories that pass, in one place at a time, and judges each again:
%d histories, and up to %d places of each for every kind of edit. It fails if an edit goes unnoticed that no correct
server can have made true. For streams and lists the second opinion ([oracle-cross-check.md](oracle-cross-check.md))
decides that, and for the rest a condition beside the edit (`+"`linearizability/tamper_*_test.go`"+`). The last column says
why the oracle is right to be silent about what is left. An edit that breaks one guarantee wherever it is made is tried
in %d histories at least, and that guarantee has to be reported.

| record | edit | tried | noticed | as | why the rest is right |
|---|---|---|---|---|---|
`, *tamperHistories, *tamperPlaces, certainHistories)
	tried, noticed := 0, 0
	for i, kind := range tamperings {
		tally := &tallies[i]
		tried, noticed = tried+tally.tried, noticed+tally.noticed
		rest := kind.silence
		if tally.noticed == tally.tried {
			rest = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %s | %s |\n", kind.subject, kind.edit, tally.tried, tally.noticed, tally.guaranteesReported(), rest)
	}
	fmt.Fprintf(&b, "\n%d edits of %d kinds; %d were noticed.\n", tried, len(tamperings), noticed)
	return b.String()
}
