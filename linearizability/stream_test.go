package linearizability_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

func TestStreamFromAnRV(t *testing.T) {
	from2 := model.Stream{RV: 2, Bookmarks: true}
	webFrom0 := model.Stream{RV: 1, Selector: model.Selector{Labels: web}}
	unique, reliable, bookmarked := guarantees{linearizability.Unique}, guarantees{linearizability.Reliable}, guarantees{linearizability.Bookmarked}
	typed, faithful, scoped := guarantees{linearizability.Typed}, guarantees{linearizability.Faithful}, guarantees{linearizability.Scoped}
	judgeStreams(t, []streamRow{
		{"everything in order", from2, []model.Event{added(4), modified(5), modified(7), added(9), deleted(12), modified(15)}, nil},
		{"nothing yet", from2, nil, nil},
		{"only the beginning", from2, []model.Event{added(4)}, nil},
		{"bookmarks between, at and after changes, and again", from2, []model.Event{
			bookmark(2), added(4), bookmark(4), bookmark(4), modified(5), bookmark(6)}, nil},
		{"a start in the future", model.Stream{RV: 1000}, nil, nil},
		{"an error at the end", from2, []model.Event{added(4), failure(model.Expired)}, nil},
		{"enter, stay, leave, enter", webFrom0, []model.Event{added(2), modified(5), leave(5, 7), added(9), added(15)}, nil},

		{"swapped", from2, []model.Event{modified(5), added(4), modified(7)}, guarantees{linearizability.Ordered, linearizability.Reliable}},
		{"twice in a row", from2, []model.Event{added(4), added(4)}, unique},
		{"twice, later", from2, []model.Event{added(4), modified(5), added(4)}, unique},
		{"at the start", from2, []model.Event{added(2), added(4)}, unique},
		{"below the start", model.Stream{RV: 6}, []model.Event{modified(5), modified(7)}, unique},
		{"a gap before an event", from2, []model.Event{modified(5)}, reliable},
		{"a lost deletion", from2, []model.Event{added(4), modified(5), modified(7), added(9), modified(15)}, reliable},
		{"a gap right after a wrong event", from2, []model.Event{modified(4), modified(7)},
			guarantees{linearizability.Typed, linearizability.Reliable}},
		{"a gap before a bookmark", from2, []model.Event{bookmark(4)}, guarantees{linearizability.Reliable, linearizability.Bookmarked}},
		{"a bookmark too early", from2, []model.Event{bookmark(4), added(4)}, bookmarked},
		{"a bookmark below an earlier one", from2, []model.Event{added(4), modified(5), bookmark(6), bookmark(5)}, bookmarked},
		{"a bookmark below an earlier event", from2, []model.Event{added(4), modified(5), bookmark(4)}, bookmarked},
		{"a bookmark below the start", from2, []model.Event{bookmark(1)}, bookmarked},
		{"a bookmark ahead of etcd", from2, []model.Event{bookmark(21), added(4)}, bookmarked},
		{"an initial-events-end bookmark that was not requested", from2, []model.Event{added(4), initialEnd(4)}, guarantees{linearizability.InitialEnd}},
		{"MODIFIED for a create", from2, []model.Event{modified(4)}, typed},
		{"MODIFIED for an object that starts to match", webFrom0, []model.Event{modified(2)}, typed},
		{"an object that never matched", webFrom0, []model.Event{added(2), added(4)}, typed},
		{"MODIFIED with the new object for one that no longer matches", webFrom0, []model.Event{
			added(2), modified(5), modified(7)},
			guarantees{linearizability.Typed, linearizability.Faithful}},
		{"an unknown type", from2, []model.Event{with(added(4), func(e *model.Event) { e.Type = "CHANGED" })}, typed},
		{"DELETED with the new object for one that no longer matches", webFrom0, []model.Event{added(2), modified(5), deleted(7)}, faithful},
		{"DELETED at the RV of the last state", webFrom0, []model.Event{
			added(2), modified(5), with(leave(5, 7), func(e *model.Event) { e.Object.RV = 5 })},
			faithful},
		{"DELETED of a deleted object at the RV of its last state", from2, []model.Event{
			added(4), modified(5), modified(7), added(9),
			with(deleted(12), func(e *model.Event) { e.RV, e.Object.RV = 4, 4 }), modified(15)},
			faithful},
		{"another value", from2, []model.Event{with(added(4), func(e *model.Event) { e.Object.Value = "v5" })}, faithful},
		{"other labels", from2, []model.Event{with(added(4), func(e *model.Event) { e.Object.Labels = web })}, faithful},
		{"another UID", from2, []model.Event{with(added(4), func(e *model.Event) { e.Object.UID = "u2" })}, faithful},
		{"another object within scope", from2, []model.Event{with(added(4), func(e *model.Event) { e.Object.Name = "z" })}, faithful},
		{"no object", from2, []model.Event{with(added(4), func(e *model.Event) { e.Object = nil })}, faithful},
		{"an RV at which nothing changed", from2, []model.Event{added(4), with(modified(5), func(e *model.Event) { e.RV, e.Object.RV = 6, 6 })},
			faithful},
		{"an object of another namespace", model.Stream{RV: 2, Scope: model.Scope{Namespace: "a"}}, []model.Event{
			added(4), modified(5), modified(7), added(9)},
			scoped},
		{"an object of another name", model.Stream{RV: 2, Scope: model.Scope{Namespace: "a", Name: "x"}}, []model.Event{
			added(4), modified(5)}, scoped},
		{"more after an error", from2, []model.Event{added(4), failure(model.Expired), modified(5)}, guarantees{linearizability.LastError}},
		{"an error without a status", from2, []model.Event{{Type: model.Error, Time: 2000}}, guarantees{linearizability.LastError}},
	})
}

// TestWhatFollowsAnErrorWithoutACache has pending events of a store: a duplicate, and
// another ERROR.
func TestWhatFollowsAnErrorWithoutACache(t *testing.T) {
	for watches, broken := range map[int]guarantees{model.Uncounted: nil, 1: {linearizability.LastError, linearizability.Unique}} {
		h := closedStream(model.Stream{RV: 2, Timeout: 1}, added(4), failure(model.Expired), added(4), failure(model.Unknown))
		h.Censuses = []model.Census{{Phase: model.Serving, Server: "s1", EtcdWatches: watches}}
		judge(t, h, broken)
	}
}

func TestViolationsOfOneStreamAreLimitedAndCounted(t *testing.T) {
	h := closedStream(model.Stream{RV: 1}, modified(15))
	config := lenient()
	config.ViolationsPerSource = 2
	verdict := linearizability.Check(h, config)
	require.Len(t, verdict.Violations, 2)
	require.Zero(t, verdict.Violations[0].More)
	require.Equal(t, 4, verdict.Violations[1].More, "six changes are missing")
	require.ErrorContains(t, verdict.Violations[1], "; and 4 more")

	config.ViolationsPerSource = 0
	require.Len(t, linearizability.Check(h, config).Violations, 6)
}
