package linearizability_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// seen are the codes of the violations in tests.
var seen = map[string]bool{}

// see requires that violations read well: no value is missing from a sentence.
func see(t require.TestingT, verdict linearizability.Verdict) {
	for _, violation := range verdict.Violations {
		seen[violation.Code.String()] = true
		text := violation.Sentence()
		require.NotRegexp(t, `[{}]|  |^ | $|never received $`, text, violation.Code)
		require.Contains(t, violation.Error(), text)
		report := violation.Report()
		require.Equal(t, violation.Code.String(), report.Code)
		require.NotEmpty(t, report.Subject)
	}
}

// TestMain requires that all tests together see each code, so that there is none that no
// history can show.
func TestMain(m *testing.M) {
	code := m.Run()
	if all := flag.Lookup("test.run").Value.String() == "" && !testing.Short(); all && code == 0 {
		source, err := os.ReadFile("codes.go")
		if err != nil {
			panic(err)
		}
		for _, match := range regexp.MustCompile(`&Code\{"([a-z0-9-]+)"`).FindAllSubmatch(source, -1) {
			if !seen[string(match[1])] {
				fmt.Printf("no test shows a violation of the code %s\n", match[1])
				code = 1
			}
		}
	}
	os.Exit(code)
}

// TestRareFlaws has the codes that no other test shows.
func TestRareFlaws(t *testing.T) {
	marked := with(added(4), func(e *model.Event) { e.InitialEnd = true })
	early := closedStream(model.Stream{RV: 0}, added(2), added(4))
	early.Operations = []model.Operation{{ID: 1, Client: "w", Server: "s1", Kind: model.Create, Call: 2000, Return: 2010,
		Object: &model.Object{Namespace: "a", Name: "y", Labels: db, Value: "v4"}, ResultRV: 4}}
	update := closedStream(model.Stream{RV: 20})
	update.Operations = []model.Operation{{ID: 1, Client: "w", Server: "s1", Kind: model.Update, Call: 1, Return: 2,
		Object: &model.Object{Namespace: "a", Name: "x", Labels: web, Value: "v2"}, ResultRV: 2}}
	for _, row := range []struct {
		sentence string
		history  *model.History
		want     guarantees
	}{
		{"c1 received the initial-events-end ADDED (RV 4), but only a bookmark can mark the end of the initial events",
			closedStream(model.Stream{RV: 2}, marked), guarantees{linearizability.InitialEnd}},
		{"c1 received BOOKMARK (RV 0), at which no client can resume",
			closedStream(model.Stream{RV: 2, Bookmarks: true}, bookmark(0)), guarantees{linearizability.Bookmarked}},
		{"c1 received initial events at RV 4, which etcd had not reached", early, guarantees{linearizability.Initial, linearizability.Faithful}},
		{"w's update of a/x (operation 1) took effect at RV 2 although the object did not exist", update, guarantees{linearizability.Preconditions}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			verdict := judge(t, row.history, row.want)
			require.True(t, slices.ContainsFunc(verdict.Violations, func(v linearizability.Violation) bool { return v.Sentence() == row.sentence }), "%v", verdict.Violations)
		})
	}
}
