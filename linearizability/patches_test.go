package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestPatches judges a patch of a/x, which has the label app=b since 4 and app=a before, as
// a patch set it. If it took effect, the object is at 6 as it was at 2.
func TestPatches(t *testing.T) {
	patch := func(app string, call int64, change func(*model.Operation)) model.Operation {
		op := on(model.Get, call, call+10, change)
		op.Touch, op.Patch = true, map[string]string{"app": app}
		return op
	}
	shown := func(app string, rv int64) func(*model.Operation) {
		return func(op *model.Operation) {
			reads("v2", rv)(op)
			op.Objects[0].Labels = map[string]string{"app": app}
		}
	}
	lin := guarantees{linearizability.Linearizable}
	history := func(asked model.Operation, effects bool) *model.History {
		h := &model.History{Truth: registerTruth(), Operations: []model.Operation{
			on(model.Create, 15, 20, writes("v2", 2)), patch("b", 30, shown("b", 4)), asked}}
		h.Truth.Changes = h.Truth.Changes[:3]
		if !effects {
			h.Truth.Changes = h.Truth.Changes[:2]
		}
		h.Operations[0].Object.Labels = map[string]string{"app": "a"}
		for i, app := range []string{"a", "b", "a"}[:len(h.Truth.Changes)] {
			object := &h.Truth.Changes[i].Object
			object.Value, object.Labels = "v2", map[string]string{"app": app}
		}
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"acknowledged", history(patch("a", 50, shown("a", 6)), true), nil},
		{"of unknown outcome", history(patch("a", 50, fails(model.Unknown)), true), nil},
		{"of unknown outcome, without effect", history(patch("a", 50, fails(model.Unknown)), false), nil},
		{"refused", history(patch("a", 50, fails(model.Unavailable)), true), lin},
		{"of another value", history(patch("b", 50, fails(model.Unknown)), true), lin},
		{"response with the labels set before", history(patch("a", 50, shown("b", 4)), false), lin},
		{"response with an old state", history(patch("a", 50, shown("a", 2)), false), lin},
		{"that changes nothing", history(patch("b", 50, shown("b", 4)), false), nil},
		{"that changes nothing, while the label was another", history(patch("b", 20, shown("b", 4)), false), nil},
	})
}
