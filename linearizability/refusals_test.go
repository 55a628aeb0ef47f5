package linearizability_test

import (
	"slices"
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// refused returns a watch that was refused at 510, by its error or by its first event.
func refused(request model.Stream, code model.Code, asEvent bool) model.Stream {
	request.ID, request.Client, request.Server = 9, "c1", "s1"
	request.Call, request.Return, request.Closed = 500, 510, 510
	if asEvent {
		request.Events = []model.Event{{Stream: 9, Time: 510, Type: model.Error, Err: code, Message: "refused"}}
	} else {
		request.Err = code
	}
	return request
}

// witnessing returns another stream of the server, from before the refused watch to
// a change made after it.
func witnessing(server string, from int64) model.Stream {
	events := []model.Event{deleted(12), modified(15)}
	events[0].Time, events[1].Time = 450, 650
	return model.Stream{ID: 3, Client: "c3", Server: server, Call: 440, Return: 441, RV: from, Closed: 700, Events: events}
}

func TestRefusedWatches(t *testing.T) {
	expired, large := guarantees{linearizability.Expired}, guarantees{linearizability.TooLarge}
	lateWitness := witnessing("s1", 11)
	lateWitness.Return = 505
	told := witnessing("s1", 11)
	told.Bookmarks, told.Events = true, slices.Insert(told.Events, 1, model.Event{Time: 460, Type: model.Bookmark, RV: 13})
	// By 510 etcd was at 12, 13 or 14.
	history := func(streams ...model.Stream) *model.History {
		h := listHistory(acknowledged(), upcoming())
		h.Streams = streams
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"from before the RV of the cache's last list", history(refused(model.Stream{RV: 13}, model.Expired, false)), nil},
		{"by an ERROR event", history(refused(model.Stream{RV: 13}, model.Expired, true)), nil},
		{"a witness on another server", history(refused(model.Stream{RV: 11}, model.Expired, false), witnessing("s2", 11)), nil},
		{"older than the witness's start", history(refused(model.Stream{RV: 10}, model.Expired, false), witnessing("s1", 11)), nil},
		{"a witness that may have begun after a relist", history(refused(model.Stream{RV: 11}, model.Expired, false), lateWitness), nil},
		{"an RV of the future", history(refused(model.Stream{RV: 30}, model.TooLarge, false), witnessing("s1", 11)), nil},
		{"an RV that another server had sent", history(refused(model.Stream{RV: 12}, model.TooLarge, true), witnessing("s2", 11)), nil},
		{"an RV that etcd has reached and the cache may not", history(refused(model.Stream{RV: 13}, model.TooLarge, true), witnessing("s1", 11)), nil},
		{"initial events that wait", history(refused(model.Stream{RV: model.RVUnset, InitialEvents: true}, model.TooLarge, true), witnessing("s1", 11)), nil},

		{"from etcd's revision", history(refused(model.Stream{RV: 14}, model.Expired, false)), expired},
		{"from the future", history(refused(model.Stream{RV: 30}, model.Expired, true)), expired},
		{"from the current state", history(refused(model.Stream{RV: 0}, model.Expired, false)), expired},
		{"from an RV that a witness proves held", history(refused(model.Stream{RV: 11}, model.Expired, true), witnessing("s1", 11)), expired},
		{"an RV that the server had sent", history(refused(model.Stream{RV: 12}, model.TooLarge, true), witnessing("s1", 11)), large},
		{"an RV that the server had sent with a bookmark", history(refused(model.Stream{RV: 13}, model.TooLarge, true), told), large},
		{"RV 0", history(refused(model.Stream{RV: 0}, model.TooLarge, false)), large},
	})
}

// TestRefusedBlockAfterCompaction has initial events that a server reads from etcd
// while it is compacted.
func TestRefusedBlockAfterCompaction(t *testing.T) {
	h := listHistory(acknowledged(), upcoming())
	h.Streams = []model.Stream{refused(model.Stream{RV: 0}, model.Expired, false)}
	h.Truth.Compactions = []model.Compaction{{RV: 13, Time: 505}}
	judge(t, h, nil)
	h.Truth.Compactions[0].RV = 12
	judge(t, h, guarantees{linearizability.Expired})
}

func TestRefusedReads(t *testing.T) {
	expired, large := guarantees{linearizability.Expired}, guarantees{linearizability.TooLarge}
	refused := func(op model.Operation, code model.Code) model.Operation {
		op.Client, op.Server, op.Err, op.Call, op.Return = "c1", "s1", code, 500, 510
		if op.Kind == "" {
			op.Kind = model.List
		}
		return op
	}
	get := model.Operation{Kind: model.Get, RV: 12, Scope: model.Scope{Namespace: "a", Name: "y"}}
	first := listed(model.Operation{ID: 40, RV: 9, Limit: 1, Match: model.MatchExact}, 9, 7)
	first.HasMore, first.Remaining = true, 2
	// etcd was compacted at 10, but for the last rows at nothing before 510.
	history := func(read model.Operation, compacted int64) *model.History {
		h := listHistory(first, acknowledged(), read, upcoming())
		h.Truth.Compactions = []model.Compaction{{RV: 10, Time: compacted}}
		h.Streams = []model.Stream{witnessing("s1", 11)}
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"exactly a compacted RV", history(refused(model.Operation{RV: 9, Match: model.MatchExact}, model.Expired), 505), nil},
		{"a name of all, perhaps exactly, that was compacted", history(refused(model.Operation{RV: 9, Limit: 5, Scope: model.Scope{Name: "y"}}, model.Expired), 505), nil},
		{"a continuation at a compacted RV", history(refused(model.Operation{RV: model.RVUnset, Continues: 40}, model.Expired), 505), nil},
		{"a compaction at an unknown time", history(refused(model.Operation{RV: 9, Match: model.MatchExact}, model.Expired), model.Pending), nil},
		{"an RV of the future", history(refused(model.Operation{RV: 30}, model.TooLarge), 505), nil},
		{"the newest, where the cache may lag behind", history(refused(model.Operation{RV: model.RVUnset}, model.TooLarge), 505), nil},

		{"the compacted revision itself", history(refused(model.Operation{RV: 10, Match: model.MatchExact}, model.Expired), 505), expired},
		{"compacted later", history(refused(model.Operation{RV: 9, Match: model.MatchExact}, model.Expired), 511), expired},
		{"a continuation, compacted only later", history(refused(model.Operation{RV: model.RVUnset, Continues: 40}, model.Expired), 511), expired},
		{"the current state", history(refused(model.Operation{RV: 0}, model.Expired), 505), expired},
		{"an RV that the server had sent", history(refused(model.Operation{RV: 12}, model.TooLarge), 505), large},
		{"a get of an RV that the server had sent", history(refused(get, model.TooLarge), 505), large},
		{"any state", history(refused(model.Operation{RV: 0}, model.TooLarge), 505), large},
	})
}
