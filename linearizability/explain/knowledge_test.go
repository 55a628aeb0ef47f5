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
		"told of all by events": {
			explain.Decision{Client: "reflector-0", Time: 4500 * ms, RV: 9}, named("x", "z"),
			"Of pods, reflector-0 had been told of all that this is about, last that b/z was created at RV 8, 489ms before.",
		},
		"told of all by a list": {
			explain.Decision{Client: "reader-0", Time: 2206 * ms, RV: 6}, named("x", "y"),
			"Of pods, reader-0 had been told of all that this is about, last that a/x was changed at RV 5, 1ms before.",
		},
		"told of the end of an object by a list without it": {
			explain.Decision{Client: "reader-0", Time: 6800 * ms, RV: 11}, named("y"),
			"Of pods, reader-0 had been told of all that this is about, last that a/y was deleted at RV 10, 95ms before.",
		},
		"not told of the last": {
			explain.Decision{Client: "reflector-0", Time: 5005 * ms, RV: 12}, named("x", "y"),
			"Of pods, reflector-0 had been told of 4 changes that this is about, last that a/x was changed at RV 7, 1.994s before. " +
				"It had not been told that a/y was deleted at RV 10 (delete by client writer-0, operation 7, 5.000s to 5.010s), and was told 6ms later.",
		},
		"never told": {
			explain.Decision{Client: "watcher-0", Time: 4500 * ms, RV: 9}, named("z"),
			"Of pods, watcher-0 had been told of nothing that this is about. " +
				"It had not been told that b/z was created at RV 8 (create by client writer-0, operation 6, 4.000s to 4.010s), and never was.",
		},
		"what comes later could not be known": {explain.Decision{Client: "reflector-0", Time: 4500 * ms, RV: 8}, named("z"), ""},
		"nothing recorded": {
			explain.Decision{Client: "writer-0", Time: 4500 * ms, RV: 9}, named("z"), "Of pods, no list and no watch of writer-0 was recorded.",
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
