package linearizability_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// chain returns a client that lists at RV 5, watches up to RV 9, and resumes.
func chain() *model.History {
	stream := func(id int, rv, call, closed int64, events ...model.Event) model.Stream {
		s := model.Stream{ID: id, Client: "c1", Server: "s1", Call: call, Return: call + 1, Closed: closed,
			Reason: model.ClosedByClient, Bookmarks: true}
		reset(&s, rv, events...)
		return s
	}
	h := listHistory(listed(model.Operation{ID: 1, RV: 5, Match: model.MatchExact, Call: 100, Return: 110}, 5, 5, 4))
	first := stream(2, 5, 200, 300, modified(7), added(9))
	first.ResumesList = 1
	second := stream(3, 9, 400, 500, deleted(12))
	second.ResumesStream = 2
	third := stream(4, 12, 600, 700, modified(15), bookmark(17))
	third.ResumesStream = 3
	h.Streams = []model.Stream{first, second, third}
	return h
}

// reset makes a stream of a chain another one.
func reset(s *model.Stream, rv int64, events ...model.Event) {
	s.RV, s.Events = rv, nil
	for i, e := range events {
		s.Events = append(s.Events, came(s.Call+2+int64(i), e))
	}
}

func TestJointsOfStreams(t *testing.T) {
	resumable := guarantees{linearizability.Resumable}
	judgeChanges(t, chain, []historyRow[func(*model.History)]{
		{"correct", func(*model.History) {}, nil},
		{"after a bookmark", func(h *model.History) {
			h.Streams[1].Events = append(h.Streams[1].Events, came(450, bookmark(14)))
			h.Streams[2].RV = 14
		}, nil},
		{"after a stream without events", func(h *model.History) {
			reset(&h.Streams[1], 9)
			reset(&h.Streams[2], 9, deleted(12))
		}, nil},
		{"from the same stream again, after one without events", func(h *model.History) {
			reset(&h.Streams[1], 9)
			reset(&h.Streams[2], 9, deleted(12))
			h.Streams[2].ResumesStream = 2
		}, nil},
		{"on another server, which may have to catch up", func(h *model.History) { h.Streams[2].Server = "s2" }, nil},
		{"after an error that is not 410", func(h *model.History) {
			h.Streams[1].Events = append(h.Streams[1].Events, came(450, failure(model.Unknown)))
			h.Streams[1].Reason, h.Faults = model.ClosedByError, []model.Fault{fault("watch-break", 1, 1, "s1")}
		}, nil},
		{"at the time of the last event", func(h *model.History) { h.Streams[1].Events[0].Time = h.Streams[2].Call }, nil},
		{"after initial events with a marked end", func(h *model.History) {
			reset(&h.Streams[1], 9, added(9), added(4), added(7), initialEnd(11))
			h.Streams[1].InitialEvents, h.Streams[1].ResumesStream = true, 0
			reset(&h.Streams[2], 11, deleted(12))
		}, nil},
		{"after initial events without a mark, in no order", func(h *model.History) {
			reset(&h.Streams[1], 0, added(9), added(4), added(7))
			h.Streams[1].ResumesStream, h.Streams[1].Bookmarks = 0, false
			reset(&h.Streams[2], 9, deleted(12))
		}, nil},
		{"a watch without an origin, of a client that need not follow the protocol", func(h *model.History) {
			reset(&h.Streams[2], 9, deleted(12))
			h.Streams[2].ResumesStream = 0
		}, nil},

		{"while the stream before it still delivers events", func(h *model.History) {
			h.Streams[1].Closed = 660
			h.Streams[1].Events = append(h.Streams[1].Events, came(650, bookmark(14)))
		}, nil},
		{"an informer that begins with initial events", func(h *model.History) {
			reset(&h.Streams[1], 9, added(9), added(4), added(7), initialEnd(11))
			h.Streams[1].InitialEvents, h.Streams[1].ResumesStream = true, 0
			reset(&h.Streams[2], 11, deleted(12))
			h.Informers = []model.Informer{{Client: "c1", Server: "s1", Objects: []model.Object{*objectAt(15), *objectAt(9)}}}
		}, nil},

		{"above the last RV seen", func(h *model.History) { reset(&h.Streams[2], 15) }, resumable},
		{"above the last RV seen, without lost events", func(h *model.History) { h.Streams[2].RV = 13 }, resumable},
		{"below the last RV seen", func(h *model.History) {
			reset(&h.Streams[2], 9, deleted(12), modified(15))
		}, resumable},
		{"below the list's RV", func(h *model.History) {
			reset(&h.Streams[0], 4, modified(5), modified(7), added(9))
		}, resumable},
		{"from the same stream as another one that delivered events", func(h *model.History) {
			reset(&h.Streams[2], 9, deleted(12))
			h.Streams[2].ResumesStream = 2
		}, resumable},
		{"from the same list as another stream that delivered events", func(h *model.History) {
			reset(&h.Streams[2], 5, modified(7))
			h.Streams[2].ResumesStream, h.Streams[2].ResumesList = 0, 1
		}, resumable},
		{"with another selector", func(h *model.History) { h.Streams[2].Selector = model.Selector{Node: "n1"}; reset(&h.Streams[2], 12) }, resumable},
		{"a smaller scope", func(h *model.History) { h.Streams[2].Scope.Namespace = "b"; reset(&h.Streams[2], 12) }, resumable},
		{"another client's stream", func(h *model.History) { h.Streams[2].Client = "c2" }, resumable},
		{"after 410 without a relist", func(h *model.History) {
			h.Streams[1] = model.Stream{ID: 3, Client: "c1", Server: "s1", RV: 9, Call: 400, Return: 401, Closed: 401, Err: model.Expired, ResumesStream: 2}
			reset(&h.Streams[2], 9, deleted(12))
			h.Streams[2].ResumesStream, h.Streams[2].Server = 2, "s2"
		}, resumable},
		{"after a stream that ended in 410", func(h *model.History) {
			h.Streams[1].Events = append(h.Streams[1].Events, came(450, failure(model.Expired)))
			h.Streams[1].Reason, h.Faults = model.ClosedByError, []model.Fault{fault("watch-break", 1, 1, "s1")}
		}, resumable},
		{"a failed list", func(h *model.History) { h.Operations[0].Err, h.Operations[0].Objects = model.TooMany, nil }, resumable},
		{"an incomplete list", func(h *model.History) {
			h.Operations[0].HasMore, h.Operations[0].Limit, h.Operations[0].Remaining = true, 1, 1
			h.Operations[0].Objects = h.Operations[0].Objects[:1]
		}, resumable},
		{"a list before it returned", func(h *model.History) { h.Operations[0].Return = 201 }, resumable},
		{"an informer without an origin", func(h *model.History) {
			h.Streams[2].ResumesStream = 0
			h.Informers = []model.Informer{{Client: "c1", Server: "s1", Objects: []model.Object{*objectAt(15), *objectAt(9)}}}
		}, resumable},
	})
}

// TestOriginsThatTheHistoryLacks cannot be judged, which is inconclusive.
func TestOriginsThatTheHistoryLacks(t *testing.T) {
	h := chain()
	h.Streams[2].ResumesStream = 99
	verdict := linearizability.Check(h, lenient())
	require.Empty(t, verdict.Violations)
	require.Equal(t, linearizability.Inconclusive, verdict.Outcome)
	require.Contains(t, verdict.Reason, "continues a stream that is not in the history")
	h = chain()
	h.Streams[0].ResumesList = 99
	require.Contains(t, linearizability.Check(h, lenient()).Reason, "continues a list that is not in the history")
}

// TestAWrongResumptionSaysWhatCameOfIt checks the witness.
func TestAWrongResumptionSaysWhatCameOfIt(t *testing.T) {
	h := chain()
	reset(&h.Streams[2], 15)
	require.ErrorContains(t, judge(t, h, guarantees{linearizability.Resumable}).Violations[0],
		"c1 never received MODIFIED a/x (RV 15): it resumed stream 3 at RV 15, where the last RV seen was 12")
	h = chain()
	reset(&h.Streams[2], 9, deleted(12), modified(15))
	require.ErrorContains(t, judge(t, h, guarantees{linearizability.Resumable}).Violations[0],
		"c1 received DELETED a/y (RV 12) again: it resumed stream 3 at RV 9, where the last RV seen was 12")
}

// TestJoinedStreamsAreTheSpecification proves what the rule guarantees: the events that
// a client that follows the protocol receives between two lists are, joined, exactly
// those that one stream would be owed.
func TestJoinedStreamsAreTheSpecification(t *testing.T) {
	joints, events := 0, 0
	for seed := range uint64(100) {
		h := generate(randomChooser{rand.New(rand.NewPCG(seed, 5))}, 300)
		require.Empty(t, linearizability.Check(h, lenient()).Violations)
		store := model.NewStore(&h.Truth)
		for _, client := range []string{"i0", "i1"} {
			for _, joined := range chainsOf(h, client) {
				joints += len(joined) - 1
				var got []model.Transition
				last := joined[0].RV
				for _, s := range joined {
					for e := range model.Each(s.Events) {
						if e.IsData() {
							got = append(got, model.Transition{Type: e.Type, RV: e.RV, Object: e.Object})
						}
						if e.Type != model.Error {
							last = e.RV
						}
					}
				}
				want := store.Owed(joined[0].Scope, joined[0].Selector, joined[0].RV, last)
				require.Len(t, got, len(want))
				for i := range want {
					require.Equal(t, want[i].RV, got[i].RV)
					require.Equal(t, want[i].Type, got[i].Type)
					require.True(t, want[i].Object.Equal(got[i].Object))
				}
				events += len(got)
			}
		}
	}
	require.Greater(t, joints, 100)
	require.Greater(t, events, 300)
}

// chainsOf returns the streams of a client, grouped by the list that they continue.
func chainsOf(h *model.History, client string) [][]*model.Stream {
	var chains [][]*model.Stream
	for s := range model.Each(h.Streams) {
		if s.Client != client || s.Err != model.OK {
			continue
		}
		at := slices.IndexFunc(chains, func(c []*model.Stream) bool {
			return slices.ContainsFunc(c, func(other *model.Stream) bool {
				return s.ResumesStream == other.ID || s.ResumesList != 0 && s.ResumesList == other.ResumesList
			})
		})
		if at < 0 {
			chains = append(chains, []*model.Stream{s})
		} else {
			chains[at] = append(chains[at], s)
		}
	}
	return chains
}
