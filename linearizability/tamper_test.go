package linearizability_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// tampering edits one kind of record in one way. A damage breaks one guarantee for
// certain, at a place that it looks for; a tampering is made at any place, and what it
// breaks may depend on that. Where no correct server can have done what the edited
// history says, the oracle has to notice; elsewhere it must be free to be silent.
type tampering struct {
	subject, edit string
	// places are where a history can be edited so.
	places func(*model.History) []tampered
	// silence says why the oracle is right not to notice, where it does not have to.
	silence string
}

func (k *tampering) name() string { return k.subject + ": " + k.edit }

// tampered is one edit of one record.
type tampered struct {
	apply func()
	// harmless reports whether a correct server can have done what the history says
	// once it is edited. It is asked only if the oracle noticed nothing; nil is never.
	harmless func(*secondOpinion) bool
}

// always is an excuse for edits of which a history cannot tell.
func always(*secondOpinion) bool { return true }

var (
	tamperHistories = flag.Int("tamper-histories", 3, "how many generated histories to tamper with")
	tamperPlaces    = flag.Int("tamper-places", 1, "at how many places of each")
	tamperUpdate    = flag.Bool("tamper-update", false, "rewrite docs/oracle-tampering.md")
)

const tamperPage = "../docs/oracle-tampering.md"

// tamperings are all ways to edit a history.
var tamperings = slices.Concat(eventTamperings, streamTamperings, listTamperings, getTamperings, writeTamperings,
	informerTamperings, serverTamperings, recordTamperings, exchangeTamperings)

// certain are the guarantees of which one is reported for each edit that breaks them
// wherever it is made.
var certain = map[string]guarantees{
	"list: another value":                               {linearizability.ExactState},
	"list: an item's RV too low":                        {linearizability.ExactState},
	"list: drop an item":                                {linearizability.ExactState, linearizability.Paged},
	"list: an item twice":                               {linearizability.ExactState, linearizability.Paged},
	"list: a continue token too few":                    {linearizability.ExactState, linearizability.Paged},
	"list: a remaining count too high":                  {linearizability.Paged},
	"write: another value":                              {linearizability.Linearizable},
	"write: fail with Conflict":                         {linearizability.Preconditions},
	"write's answer: another label":                     {linearizability.Linearizable},
	"informer: drop an object":                          {linearizability.Converged},
	"server: a watch on etcd after the stop":            {linearizability.Released},
	"server: a goroutine after the stop":                {linearizability.Released},
	"server: a stream too many once clients have left":  {linearizability.Released},
	"server: a watcher too many once clients have left": {linearizability.Released},
}

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

// guaranteesReported lists the guarantees, the one that was reported most often first.
func (t *tamperTally) guaranteesReported() string {
	names := make([]string, 0, len(t.by))
	for name := range t.by {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(t.by[b]-t.by[a], cmp.Compare(a, b)) })
	return strings.Join(names, ", ")
}

// tamper makes one kind of edit in one history again and again, each time in a
// copy, and returns the edits that had to be noticed and were not.
func tamper(t require.TestingT, kind tampering, seed uint64, tally *tamperTally) (missed []string) {
	correct := func() *model.History { return generate(randomChooser{rand.New(rand.NewPCG(seed, 6))}, 150) }
	order := rand.New(rand.NewPCG(seed, 7)).Perm(len(kind.places(correct())))
	for _, i := range order[:min(*tamperPlaces, len(order))] {
		h := correct()
		place := kind.places(h)[i]
		place.apply()
		verdict := linearizability.Check(h, lenient())
		see(t, verdict)
		tally.note(verdict)
		if want := certain[kind.name()]; want != nil {
			requireOneOf(t, verdict, want)
		}
		if verdict.Outcome == linearizability.Passed && (place.harmless == nil || !place.harmless(newSecondOpinion(h))) {
			missed = append(missed, fmt.Sprintf("%s: history %d, place %d", kind.name(), seed, i))
		}
	}
	return missed
}

// TestTamperingIsNoticed makes all edits at some places of some histories, and
// requires that each which has to be noticed is.
func TestTamperingIsNoticed(t *testing.T) {
	tallies := make([]tamperTally, len(tamperings))
	var missed []string
	for i, kind := range tamperings {
		tallies[i].by = map[string]int{}
		for seed := range uint64(*tamperHistories) {
			missed = append(missed, tamper(t, kind, seed, &tallies[i])...)
		}
		require.Positive(t, tallies[i].tried, "no history has a place for: %s", kind.name())
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

// TestTamperingIsDocumented requires a row for each kind of edit. The counts are of
// the run that wrote the page.
func TestTamperingIsDocumented(t *testing.T) {
	page, err := os.ReadFile(tamperPage)
	require.NoError(t, err)
	for _, kind := range tamperings {
		require.Contains(t, string(page), fmt.Sprintf("| %s | %s | ", kind.subject, kind.edit), "run make tamper")
	}
}

// tamperTable renders what became of the edits.
func tamperTable(tallies []tamperTally) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What tampering the oracle notices

`+"`make tamper`"+` writes this page. It edits generated histories that pass, in one place at a time, and judges each again:
%d histories, and up to %d places of each for every kind of edit. It fails if an edit goes unnoticed that no correct
server can have made true. For streams and lists the second opinion ([oracle-cross-check.md](oracle-cross-check.md))
decides that, and for the rest a condition beside the edit (`+"`linearizability/tamper_*_test.go`"+`). The last column says
why the oracle is right to be silent about what is left. Damages that break one guarantee for certain are a table of
their own, `+"`TestEachDamageIsReported`"+`.

| record | edit | tried | noticed | as | why the rest is right |
|---|---|---|---|---|---|
`, *tamperHistories, *tamperPlaces)
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
