package explain_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
)

func TestKnowledge(t *testing.T) {
	named := func(names ...string) func(*model.Object) bool {
		return func(o *model.Object) bool { return slices.Contains(names, o.Name) }
	}
	for name, row := range map[string]struct {
		decision explain.Decision
		about    func(*model.Object) bool
		want     string
	}{
		"observed all by events": {
			explain.Decision{Client: "reflector-0", Time: 4500 * ms, RV: 9}, named("x", "z"),
			"reflector-0 had observed all relevant changes to pods, the last 489ms before: b/z was created at RV 8.",
		},
		"observed all by a list": {
			explain.Decision{Client: "reader-0", Time: 2206 * ms, RV: 6}, named("x", "y"),
			"reader-0 had observed all relevant changes to pods, the last 1ms before: a/x was changed at RV 5.",
		},
		"observed a deletion by a list without the object": {
			explain.Decision{Client: "reader-0", Time: 6800 * ms, RV: 11}, named("y"),
			"reader-0 had observed all relevant changes to pods, the last 95ms before: a/y was deleted at RV 10.",
		},
		"last change not observed": {
			explain.Decision{Client: "reflector-0", Time: 5005 * ms, RV: 12}, named("x", "y"),
			"reflector-0 had observed 4 relevant changes to pods, the last 1.994s before: a/x was changed at RV 7. " +
				"It had not observed that a/y was deleted at RV 10 (delete by client writer-0, operation 7, 5.000s to 5.010s), and did so 6ms later.",
		},
		"never observed": {
			explain.Decision{Client: "watcher-0", Time: 4500 * ms, RV: 9}, named("z"),
			"watcher-0 had observed no relevant change to pods. " +
				"It had not observed that b/z was created at RV 8 (create by client writer-0, operation 6, 4.000s to 4.010s), and never did.",
		},
		"later changes are not relevant": {explain.Decision{Client: "reflector-0", Time: 4500 * ms, RV: 8}, named("z"), ""},
		"nothing recorded": {
			explain.Decision{Client: "writer-0", Time: 4500 * ms, RV: 9}, named("z"), "No list or watch of pods by writer-0 was recorded.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, explain.New(story()).Knowledge("pods", row.decision, row.about))
		})
	}
}

func TestTold(t *testing.T) {
	e := explain.New(story())
	require.EqualValues(t, 5011*ms, e.Told("reflector-0", 10))
	require.EqualValues(t, 3012*ms, e.Told("watcher-0", 7), "that an object left the selector")
	require.EqualValues(t, 6500*ms+5*ms, e.Told("reader-0", 7), "by a later state")
	require.Equal(t, model.Pending, e.Told("watcher-0", 8))
	require.Equal(t, model.Pending, e.Told("watcher-0", 99), "no change")
}
