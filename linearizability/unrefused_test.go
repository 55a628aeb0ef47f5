package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestWatchesThatHadToBeRefused has a stream from an RV that the server certainly no
// longer holds, opened at 520. Another watch was refused at 510.
func TestWatchesThatHadToBeRefused(t *testing.T) {
	expired := guarantees{linearizability.Expired}
	served := func(server string, rv, call int64, events ...model.Event) model.Stream {
		return model.Stream{ID: 10, Client: "c2", Server: server, RV: rv, Call: call, Return: call + 1, Closed: 590, Reason: model.ClosedByClient,
			Events: cameAt(580, events...)}
	}
	gap := []model.Event{deleted(12)} // and not the change at 9
	whole := []model.Event{added(9), deleted(12)}
	before, nobody := refused(model.Stream{RV: 8}, model.Expired, false), model.Stream{}
	restarted := []model.Fault{fault("apiserver-restart", 450, 460, "s1")}
	history := func(refused, served model.Stream, faults ...model.Fault) *model.History {
		h := listHistory(acknowledged(), upcoming())
		if served.RV == 12 {
			h.Operations[1].Call = 570
		}
		for _, event := range served.Events {
			served.Bookmarks = served.Bookmarks || event.Type == model.Bookmark
		}
		h.Streams, h.Faults = present(served, refused), faults
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"from above the refused RV", history(refused(model.Stream{RV: 7}, model.Expired, false), served("s1", 8, 520, whole...)), nil},
		{"on another server", history(before, served("s2", 8, 520, whole...)), nil},
		{"before the refusal was answered", history(before, served("s1", 8, 510, whole...)), nil},
		{"without an RV, so that nothing is too old", history(before, served("s1", 0, 520, added(7), added(9))), nil},
		{"ended before any event, as by a cache that relists", history(before, served("s1", 8, 520)), nil},
		{"refused for another reason", history(refused(model.Stream{RV: 8}, model.TooMany, false), served("s1", 8, 520, whole...)), nil},
		{"from the minimum RV of the new cache's first list", history(nobody, served("s1", 12, 520, modified(15)), restarted...), nil},
		{"from before a restart of another server", history(nobody, served("s2", 8, 520, whole...), restarted...), nil},
		{"opened while the server was restarted", history(nobody, served("s1", 8, 460, whole...), restarted...), nil},
		{"from before a write while the server was down, which the first list may lack", history(nobody, served("s1", 8, 520, whole...), fault("apiserver-crash", 350, 460, "s1")),
			nil},
		{"from before a watch broke, which the cache may not have noticed", history(nobody, served("s1", 8, 520, whole...), fault("watch-break", 450, 460, "s1")), nil},

		{"from the refused RV", history(before, served("s1", 8, 520, whole...)), expired},
		{"from below an RV that was refused by an event", history(refused(model.Stream{RV: 8}, model.Expired, true), served("s1", 7, 520, whole...)), expired},
		{"with a gap", history(before, served("s1", 8, 520, gap...)), guarantees{linearizability.Expired, linearizability.Reliable}},
		{"with a bookmark", history(before, served("s1", 8, 520, bookmark(8))), guarantees{linearizability.Expired}},
		{"from before the server was restarted", history(nobody, served("s1", 8, 520, whole...), restarted...), expired},
		{"with a gap, from before a crash", history(nobody, served("s1", 8, 520, gap...), fault("apiserver-crash", 450, 460, "s1")),
			guarantees{linearizability.Expired, linearizability.Reliable}},
		{"a gap alone", history(nobody, served("s1", 8, 520, gap...)), guarantees{linearizability.Reliable}},
	})
}

// TestRequestsFromTheFuture has etcd at revision 14 at most until 600.
func TestRequestsFromTheFuture(t *testing.T) {
	large := linearizability.TooLarge
	get := func(rv int64, code model.Code) model.Operation {
		op := model.Operation{Client: "c1", Server: "s1", Kind: model.Get, RV: rv, Call: 500, Return: 510,
			Scope: model.Scope{Namespace: "a", Name: "y"}, Err: model.NotFound}
		if code == model.OK {
			op.Scope.Name, op.Err, op.ResultRV, op.Objects = "x", model.OK, 7, []model.Object{*objectAt(7)}
		}
		return op
	}
	read := func(op model.Operation) *model.History { return listHistory(acknowledged(), upcoming(), op) }
	watch := func(s model.Stream, events ...model.Event) *model.History {
		h := listHistory(acknowledged(), upcoming())
		s.ID, s.Client, s.Server, s.Call, s.Return, s.Closed, s.Reason = 10, "c1", "s1", 500, 501, 700, model.ClosedByClient
		s.Events = cameAt(510, events...)
		h.Streams = []model.Stream{s}
		return h
	}
	block := []model.Event{added(7), added(9)}
	judgeAll(t, []historyRow[*model.History]{
		{"a get at an RV that etcd may have reached", read(get(14, model.OK)), nil},
		{"a get that found nothing at such an RV", read(get(14, model.NotFound)), nil},
		{"a watch from the future waits for it", watch(model.Stream{RV: 30}), nil},
		{"initial events that never arrived", watch(model.Stream{RV: 30, InitialEvents: true}), nil},
		{"a get that waited for the RV", read(changed(get(15, model.OK), func(op *model.Operation) {
			op.Return, op.ResultRV, op.Objects = 620, 15, []model.Object{*objectAt(15)}
		})), nil},

		{"a get from the future", read(get(30, model.OK)), guarantees{large, linearizability.NotOlderThan}},
		{"a get of an object that is still the newest", read(changed(get(30, model.OK), func(op *model.Operation) {
			op.Scope, op.ResultRV, op.Objects = model.Scope{Namespace: "b", Name: "z"}, 9, []model.Object{*objectAt(9)}
		})), guarantees{large}},
		{"a get that found nothing in the future", read(get(30, model.NotFound)), guarantees{large}},
		{"a list from the future", read(listed(model.Operation{RV: 30, Match: model.MatchNotOlderThan}, 12, 7, 9)), guarantees{large, linearizability.NotOlderThan}},
		{"initial events from the future", watch(model.Stream{RV: 30, InitialEvents: true}, block...), guarantees{large, linearizability.Initial}},
	})
}

// TestTheHighestRefusalCounts has a server that refused an RV, and then a lower one:
// RVs in between are no longer held either.
func TestTheHighestRefusalCounts(t *testing.T) {
	h := listHistory(acknowledged(), upcoming())
	low := refused(model.Stream{RV: 5}, model.Expired, false)
	low.ID, low.Call, low.Return, low.Closed = 11, 511, 515, 515
	h.Streams = []model.Stream{refused(model.Stream{RV: 8}, model.Expired, false), low,
		{ID: 10, Client: "c2", Server: "s1", RV: 7, Call: 520, Return: 521, Closed: 590, Reason: model.ClosedByClient,
			Events: []model.Event{came(580, added(9))}}}
	judge(t, h, guarantees{linearizability.Expired})
}
