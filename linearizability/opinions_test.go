package linearizability_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// searching checks every stream by the search as well, whatever its size.
func searching() linearizability.Config {
	config := lenient()
	config.SearchEvents, config.SearchChanges, config.SearchTimeout = 1<<20, 1<<20, 0
	return config
}

// distort changes one thing about one stream, and probably breaks it. Unlike the
// tamperings, it also changes initial events without a mark, where what is wrong in one
// interpretation is right in another, and requests.
func distort(c chooser, h *model.History) {
	if len(h.Streams) == 0 {
		return
	}
	s := &h.Streams[c.below(len(h.Streams))]
	switch c.below(12) {
	case 0:
		s.Bookmarks = !s.Bookmarks
	case 1:
		s.InitialEvents = !s.InitialEvents
	case 2:
		s.RV = int64(c.below(int(h.Truth.Revision)+3)) - 1
	case 3:
		s.Scope = []model.Scope{{}, {Namespace: "a"}, {Namespace: "b", Name: "x"}, {Name: "y"}}[c.below(4)]
	case 4:
		s.Selector = []model.Selector{{}, {Labels: map[string]string{"app": "web"}}, {Node: "n1"}}[c.below(3)]
	case 5:
		s.Closed = []int64{model.Pending, s.Call, h.Healed}[c.below(3)]
	default:
		distortEvents(c, h, s)
	}
}

func distortEvents(c chooser, h *model.History, s *model.Stream) {
	rv := func() int64 { return int64(c.below(int(h.Truth.Revision) + 2)) }
	s.Events = slices.Clone(s.Events)
	if c.below(3) == 0 || len(s.Events) == 0 {
		e := model.Event{Stream: s.ID, Type: model.Bookmark, RV: rv(), InitialEnd: c.below(2) == 0, Time: int64(c.below(int(h.Healed)))}
		if len(h.Truth.Changes) > 0 && c.below(2) == 0 {
			change := h.Truth.Changes[c.below(len(h.Truth.Changes))]
			e.Type, e.RV, e.Object, e.InitialEnd = model.Added, change.RV, &change.Object, false
			e.Object.RV = e.RV
		}
		s.Events = slices.Insert(s.Events, c.below(len(s.Events)+1), e)
		return
	}
	i := c.below(len(s.Events))
	e := &s.Events[i]
	if e.Object != nil {
		object := *e.Object
		e.Object = &object
	}
	switch c.below(12) {
	case 0:
		s.Events = slices.Delete(s.Events, i, i+1)
	case 1:
		s.Events = s.Events[:i]
	case 2:
		s.Events = slices.Insert(s.Events, c.below(len(s.Events)+1), *e)
	case 3:
		j := c.below(len(s.Events))
		s.Events[i], s.Events[j] = s.Events[j], s.Events[i]
	case 4:
		e.Type = []model.EventType{model.Added, model.Modified, model.Deleted, model.Bookmark, "CHANGED"}[c.below(5)]
	case 5:
		e.RV = rv()
	case 6:
		e.RV = rv()
		if e.Object != nil {
			e.Object.RV = e.RV
		}
	case 7:
		e.Time = int64(c.below(int(h.Healed)))
	case 8:
		e.InitialEnd = !e.InitialEnd
	case 9:
		*e = model.Event{Stream: s.ID, Time: e.Time, Type: model.Error, Err: []model.Code{model.OK, model.Unknown, model.Expired, model.TooLarge}[c.below(4)]}
	case 10:
		if e.Object != nil {
			e.Object.Value, e.Object.Name = "another", []string{"x", "y", e.Object.Name}[c.below(3)]
		}
	case 11:
		e.Object = nil
	}
}

// aboutOneStream are the guarantees of a single stream.
var aboutOneStream = guarantees{linearizability.Ordered, linearizability.Unique, linearizability.Reliable, linearizability.Typed,
	linearizability.Faithful, linearizability.Scoped, linearizability.Initial, linearizability.InitialEnd, linearizability.Bookmarked,
	linearizability.LastError, linearizability.Delivered}

// aboutOneList are those of a list without pages.
var aboutOneList = guarantees{linearizability.ExactState, linearizability.MostRecent, linearizability.NotOlderThan,
	linearizability.Exact, linearizability.Any, linearizability.Paged}

// compareOpinions requires that the oracle's walk and its search accept the same streams, and
// the second opinion the same streams and lists, and returns how many they accepted and
// rejected.
func compareOpinions(t require.TestingT, h *model.History) (verdict linearizability.Verdict, accepted, rejected int) {
	config := searching()
	config.ViolationsPerSource = 0
	verdict = linearizability.Check(h, config)
	require.NotContains(t, verdict.Reason, "disagrees", "%v", verdict.Violations)
	streams, lists := map[int]error{}, map[int]error{}
	for _, violation := range verdict.Violations {
		if violation.Guarantee == linearizability.Revision {
			return verdict, 0, 0 // without an order there is no opinion
		}
		if slices.Contains(aboutOneStream, violation.Guarantee) {
			if of := violation.Witness.Stream; of != nil {
				streams[of.ID] = violation
			}
		}
		if slices.Contains(aboutOneList, violation.Guarantee) && len(violation.Witness.Operations) > 0 {
			lists[violation.Witness.Operations[0].ID] = violation
		}
	}
	opinion := newSecondOpinion(h)
	count := func(allowed bool, found error, what string) {
		require.Equal(t, found == nil, allowed, "%s: the oracle says %v", what, found)
		if allowed {
			accepted++
		} else {
			rejected++
		}
	}
	for s := range model.Each(h.Streams) {
		if s.Err == model.OK {
			count(opinion.allows(s), streams[s.ID], fmt.Sprintf("stream %d", s.ID))
		}
	}
	for op := range model.Each(h.Operations) {
		if op.Kind == model.List && op.Err == model.OK && op.Return != model.Pending && op.Limit == 0 && op.Continues == 0 {
			count(opinion.allowsList(op), lists[op.ID], fmt.Sprintf("operation %d", op.ID))
		}
	}
	return verdict, accepted, rejected
}

// TestAllOpinionsAgree is the property that defines the linear-time rules: on every small
// history that can be drawn, sound, edited or distorted, they accept exactly the streams that
// the specification allows, and that are as published.
func TestAllOpinionsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapidChooser{t}
		h := generate(c, rapid.IntRange(1, 80).Draw(t, "steps"))
		for range rapid.IntRange(0, 2).Draw(t, "edits") {
			kind := rapid.SampledFrom(certain).Draw(t, "edit")
			kind.inflict(c, h)
		}
		for range rapid.IntRange(0, 4).Draw(t, "distortions") {
			distort(c, h)
		}
		compareOpinions(t, h)
	})
}

// TestAllOpinionsAgreeOnMany covers more than rapid can in the time, and requires that all
// have much to accept and much to reject.
func TestAllOpinionsAgreeOnMany(t *testing.T) {
	outcomes, searched, accepted, rejected := map[linearizability.Outcome]int{}, 0, 0, 0
	for seed := range uint64(1500) {
		c := randomChooser{rand.New(rand.NewPCG(seed, 3))}
		h := generate(c, 60)
		if seed%3 > 0 {
			certain[c.below(len(certain))].inflict(c, h)
		}
		for range c.below(5) {
			distort(c, h)
		}
		verdict, a, r := compareOpinions(t, h)
		accepted, rejected, searched = accepted+a, rejected+r, searched+verdict.Counts.Searched
		outcomes[verdict.Outcome]++
	}
	require.Greater(t, searched, 5000)
	require.Greater(t, outcomes[linearizability.Failed], 400)
	require.Greater(t, outcomes[linearizability.Passed], 100)
	require.Greater(t, accepted, 5000)
	require.Greater(t, rejected, 500)
}

// TestALargeStreamIsNotSearched sets each limit just below the actual size.
func TestALargeStreamIsNotSearched(t *testing.T) {
	h := closedStream(model.Stream{RV: 2}, added(4), modified(5))
	config := searching()
	require.Equal(t, 1, linearizability.Check(h, config).Counts.Searched)
	config.SearchEvents = 1
	require.Zero(t, linearizability.Check(h, config).Counts.Searched)
	config = searching()
	config.SearchChanges = len(h.Truth.Changes) - 1
	require.Zero(t, linearizability.Check(h, config).Counts.Searched)
}

// TestWhatTheSearchHasFound has the bugs of the walk that the search found, each rare
// enough to be missed by a few hundred draws.
func TestWhatTheSearchHasFound(t *testing.T) {
	x, y, z := added(7), added(4), added(9)
	marked, plain := model.Stream{InitialEvents: true, Bookmarks: true}, model.Stream{RV: 0}
	written := func(request model.Stream) *model.History { // b/z, so that etcd was at most at 8 by 2000
		h := closedStream(request, z)
		h.Operations = []model.Operation{{ID: 1, Client: "c2", Kind: model.Create, Scope: model.Scope{Namespace: "b", Name: "z"},
			Object: &model.Object{Namespace: "b", Name: "z", Labels: web, Value: "v9"}, Call: 2001, Return: 2002, ResultRV: 9}}
		return h
	}
	open := closedStream(marked, x, y, z, failure(model.Unknown))
	open.Streams[0].Closed, open.End = model.Pending, open.Healed+60_000*step
	for _, row := range []historyRow[*model.History]{
		{"a bookmark that was not requested", closedStream(model.Stream{RV: 2}, bookmark(3)), guarantees{linearizability.Bookmarked}},
		{"a bookmark at no RV", closedStream(model.Stream{RV: 2, Bookmarks: true}, bookmark(0)), guarantees{linearizability.Bookmarked}},
		{"a mark at no RV", closedStream(model.Stream{InitialEvents: true, Bookmarks: true, Scope: model.Scope{Name: "none"}}, initialEnd(0)),
			guarantees{linearizability.InitialEnd}},
		{"a mark that is not a bookmark", closedStream(marked, x, y, with(z, func(e *model.Event) { e.InitialEnd = true })),
			guarantees{linearizability.InitialEnd}},
		{"an unknown type in a block", closedStream(marked, x, with(y, func(e *model.Event) { e.Type = "CHANGED" }), z, initialEnd(10)),
			guarantees{linearizability.Typed}},
		{"a change before its commit", written(model.Stream{RV: 7}), guarantees{linearizability.Faithful}},
		{"initial events ahead of etcd", written(model.Stream{RV: 0, Scope: model.Scope{Namespace: "b"}}),
			guarantees{linearizability.Faithful, linearizability.Initial}},
		{"part of a block with another RV", closedStream(plain, with(x, func(e *model.Event) { e.RV = 5 })),
			guarantees{linearizability.Initial, linearizability.Faithful}},
		{"no mark, because the stream failed", open, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			compareOpinions(t, row.of)
			judge(t, row.of, row.broken)
		})
	}
}
