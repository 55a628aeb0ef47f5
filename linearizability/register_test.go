package linearizability_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// on builds operations on one object, a/x.
func on(kind model.Kind, call, returned int64, changes ...func(*model.Operation)) model.Operation {
	op := model.Operation{Client: "c1", Server: "s1", Kind: kind, Call: call, Return: returned, RV: model.RVUnset,
		Scope: model.Scope{Namespace: "a", Name: "x"}}
	for _, change := range changes {
		change(&op)
	}
	return op
}

func writes(value string, rv int64) func(*model.Operation) {
	return func(op *model.Operation) {
		op.Object, op.ResultRV = &model.Object{Namespace: "a", Name: "x", Value: value}, rv
	}
}

func fails(code model.Code) func(*model.Operation) {
	return func(op *model.Operation) { op.Err = code }
}

// ifAt requires that the object is at an RV, ifUID that it has a UID.
func ifAt(rv int64) func(*model.Operation) {
	return func(op *model.Operation) { op.Precondition = rv }
}

func ifUID(uid string) func(*model.Operation) {
	return func(op *model.Operation) {
		if op.Object == nil {
			op.Object = &model.Object{Namespace: "a", Name: "x"}
		}
		op.Object.UID = uid
	}
}

// by returns an operation of a client other than c1.
func by(client string, op model.Operation) model.Operation {
	op.Client = client
	return op
}

// elsewhere returns an acknowledged write of another object.
func elsewhere(rv, call, returned int64) model.Operation {
	return on(model.Create, call, returned, func(op *model.Operation) {
		op.Scope.Name, op.ResultRV = "y", rv
		op.Object = &model.Object{Namespace: "a", Name: "y", Value: fmt.Sprint("y", rv)}
	})
}

// withRV makes a deletion at an RV, or a read with only an RV.
func withRV(rv int64) func(*model.Operation) {
	return func(op *model.Operation) { op.ResultRV = rv }
}

func reads(value string, rv int64) func(*model.Operation) {
	return func(op *model.Operation) {
		op.ResultRV, op.Objects = rv, []model.Object{{Namespace: "a", Name: "x", Value: value, RV: rv}}
	}
}

// registerTruth creates a/x at 2, updates it at 4 and 6, deletes it at 8 and
// recreates it at 10.
func registerTruth() model.Truth {
	object := func(value string) model.Object { return model.Object{Namespace: "a", Name: "x", Value: value} }
	return model.Truth{Revision: 12, Changes: []model.Change{
		{RV: 2, Object: object("v2")}, {RV: 4, Object: object("v4")}, {RV: 6, Object: object("v6")},
		{RV: 8, Deleted: true, Object: object("v6")}, {RV: 10, Object: object("v10")},
	}}
}

// registerHistory has the operations, and each change to another object that they made.
func registerHistory(ops []model.Operation) *model.History {
	truth := registerTruth()
	for i := range ops {
		ops[i].ID = i + 1
		if object := ops[i].Object; object != nil && object.Name == "y" {
			truth.Changes = append(truth.Changes, model.Change{RV: ops[i].ResultRV, Object: *object})
		}
	}
	slices.SortFunc(truth.Changes, func(a, b model.Change) int { return cmp.Compare(a.RV, b.RV) })
	return &model.History{Truth: truth, Operations: ops, Healed: 1000, End: 1000}
}

func TestWritesAndMostRecentReads(t *testing.T) {
	created := on(model.Create, 10, 20, writes("v2", 2))
	updated4 := on(model.Update, 30, 40, writes("v4", 4))
	updated6 := on(model.Update, 50, 60, writes("v6", 6))
	deleted := on(model.Delete, 70, 80, withRV(8))
	created10 := on(model.Create, 90, 100, writes("v10", 10))
	lin, pre := guarantees{linearizability.Linearizable}, guarantees{linearizability.Preconditions}

	judgeEach(t, []historyRow[[]model.Operation]{
		{"one after the other", []model.Operation{created, updated4, updated6, deleted, created10}, nil},
		{"all at once, in no order", []model.Operation{
			on(model.Update, 1, 9, writes("v6", 6)), on(model.Create, 1, 9, writes("v2", 2)), on(model.Delete, 1, 9, withRV(8)),
			on(model.Update, 1, 9, writes("v4", 4)), on(model.Create, 1, 9, writes("v10", 10))}, nil},
		{"no recorded writes", nil, nil},
		{"reads", []model.Operation{created, updated4, on(model.Get, 22, 25, reads("v2", 2)), on(model.Get, 35, 45, reads("v2", 2)),
			on(model.Get, 35, 45, reads("v4", 4)), on(model.Get, 1, 5, fails(model.NotFound))}, nil},
		{"reads with only an RV", []model.Operation{created, updated4, on(model.Get, 35, 45, withRV(2)), on(model.Get, 45, 46, withRV(4))}, nil},
		{"reads of unknown outcome say nothing", []model.Operation{created, on(model.Get, 22, 25, fails(model.Unknown))}, nil},
		{"preconditions met", []model.Operation{created, on(model.Update, 30, 40, writes("v4", 4), ifAt(2)),
			on(model.Update, 42, 45, writes("lost", 0), ifAt(2), fails(model.Conflict))}, nil},
		{"a deletion without an RV", []model.Operation{updated6, on(model.Delete, 70, 80, withRV(0)), created10,
			on(model.Get, 82, 85, fails(model.NotFound))}, nil},
		{"an update of unknown outcome that took effect late", []model.Operation{created,
			on(model.Update, 25, 26, writes("v4", 0), fails(model.Unknown)), on(model.Get, 35, 36, reads("v2", 2)), on(model.Get, 45, 46, reads("v4", 4))}, nil},
		{"an update of unknown outcome that took effect after an acknowledged write", []model.Operation{created, on(model.Update, 25, 26, writes("v4", 0), fails(model.Unknown)),
			elsewhere(3, 30, 40), on(model.Get, 45, 46, reads("v2", 2))}, nil},
		{"a read called at the time another client's later write returned", []model.Operation{created,
			on(model.Update, 25, 26, writes("v4", 0), fails(model.Unknown)), by("c9", elsewhere(5, 30, 40)), on(model.Get, 40, 41, reads("v2", 2))}, nil},
		{"an update of unknown outcome that never took effect", []model.Operation{created, on(model.Update, 25, 26, writes("v3", 0), fails(model.Unknown))}, nil},
		{"an update that never returned", []model.Operation{created, on(model.Update, 25, model.Pending, writes("v4", 0)), on(model.Get, 45, 46, reads("v4", 4))}, nil},
		{"a deletion of unknown outcome that took effect", []model.Operation{updated6, on(model.Delete, 62, 63, fails(model.Unknown)), created10,
			on(model.Get, 82, 85, fails(model.NotFound))}, nil},
		{"deletions of unknown outcome, one of which took effect", []model.Operation{created, on(model.Delete, 22, 23, fails(model.Unknown)), updated4,
			on(model.Delete, 42, 43, fails(model.Unknown)), updated6, on(model.Delete, 62, 63, fails(model.Unknown)), created10}, nil},
		{"a deletion of unknown outcome whose precondition held", []model.Operation{updated6, on(model.Delete, 3, 4, fails(model.Unknown)),
			on(model.Delete, 62, 63, ifAt(6), fails(model.Unknown)), created10}, nil},
		{"a deletion of unknown outcome whose precondition failed", []model.Operation{updated6, on(model.Delete, 62, 63, ifAt(4), fails(model.Unknown)),
			on(model.Delete, 70, 80, ifAt(6)), created10}, nil},
		{"a deletion without an RV after one of unknown outcome", []model.Operation{updated6, on(model.Delete, 62, 63, fails(model.Unknown)),
			on(model.Delete, 70, 80, withRV(0)), created10, on(model.Get, 65, 66, reads("v6", 6))}, nil},
		{"a deletion before the call of the only delete, of unknown outcome", []model.Operation{updated6, created10,
			on(model.Delete, 102, 103, fails(model.Unknown))}, nil},
		{"a deletion before the call of the only delete, a refused one", []model.Operation{updated6, created10,
			on(model.Delete, 102, 103, ifAt(9), fails(model.Conflict))}, nil},
		{"a read at the time another client's write returned", []model.Operation{created, updated4,
			by("c9", on(model.Get, 40, 41, reads("v2", 2)))}, nil},
		{"a read at the time a write of the same client returned, which has concurrent operations", []model.Operation{created, updated4,
			on(model.Get, 35, 45, reads("v4", 4)), on(model.Get, 40, 41, reads("v2", 2))}, nil},
		{"deletions of unknown outcome, recorded out of order", []model.Operation{updated6, on(model.Delete, 110, 111, fails(model.Unknown)),
			on(model.Delete, 62, 63, fails(model.Unknown)), created10}, nil},
		{"failures that depend on the state", []model.Operation{created, on(model.Create, 22, 25, writes("no", 0), fails(model.AlreadyExists)), deleted,
			on(model.Update, 82, 85, writes("no", 0), fails(model.NotFound)), on(model.Delete, 82, 85, fails(model.NotFound))}, nil},
		{"an update of a deleted object that conflicts", []model.Operation{created, updated4, updated6, deleted,
			on(model.Update, 82, 85, writes("lost", 0), ifAt(6), fails(model.Conflict)), created10}, nil},
		{"failures that do not depend on the state", []model.Operation{created, on(model.Update, 22, 25, writes("no", 0), fails(model.Unavailable)),
			on(model.Update, 22, 25, writes("no", 0), fails(model.TooMany)), on(model.Update, 22, 25, writes("no", 0), fails(model.Conflict))}, nil},

		{"a stale read", []model.Operation{created, updated4, on(model.Get, 45, 46, reads("v2", 2))}, lin},
		{"a stale read at the time the client's own write returned", []model.Operation{created, updated4,
			on(model.Get, 40, 41, reads("v2", 2))}, lin},
		{"a read that misses an update of unknown outcome that others observed", []model.Operation{created,
			on(model.Update, 25, 26, writes("v4", 0), fails(model.Unknown)), by("c9", on(model.Get, 35, 36, reads("v4", 4))), on(model.Get, 45, 46, reads("v2", 2))}, lin},
		{"a read that misses an update of unknown outcome before an acknowledged write", []model.Operation{created,
			on(model.Update, 25, 26, writes("v4", 0), fails(model.Unknown)), elsewhere(5, 30, 40), on(model.Get, 45, 46, reads("v2", 2))}, lin},
		{"a read that misses a deletion of unknown outcome before an acknowledged write", []model.Operation{updated6,
			on(model.Delete, 62, 63, fails(model.Unknown)), on(model.Delete, 62, 63, fails(model.Unknown)), elsewhere(9, 65, 68), on(model.Get, 70, 71, reads("v6", 6)), created10}, lin},
		{"a read that misses an unrecorded change before an acknowledged write", []model.Operation{created,
			elsewhere(5, 30, 40), on(model.Get, 45, 46, reads("v2", 2))}, lin},
		{"a read of a change after a write that was called later", []model.Operation{created, on(model.Get, 22, 25, reads("v6", 6)), elsewhere(5, 30, 40)}, lin},
		{"NotFound despite an update of unknown outcome before an acknowledged write", []model.Operation{
			on(model.Create, 1, 2, writes("v2", 0), fails(model.Unknown)), elsewhere(3, 10, 20), on(model.Delete, 22, 25, fails(model.NotFound))}, pre},
		{"a stale read with only an RV", []model.Operation{created, updated4, on(model.Get, 45, 46, withRV(2))}, lin},
		{"a read of a future change", []model.Operation{created, updated4, on(model.Get, 22, 25, reads("v4", 4))}, lin},
		{"a read of nothing", []model.Operation{created, updated4, on(model.Get, 22, 25, fails(model.NotFound))}, lin},
		{"a read of a value that was never written", []model.Operation{created, on(model.Get, 22, 25, reads("v3", 2))}, lin},
		{"reads that go back", []model.Operation{created, on(model.Update, 30, 100, writes("v4", 4)),
			on(model.Get, 40, 41, reads("v4", 4)), on(model.Get, 50, 51, reads("v2", 2))}, lin},
		{"writes against real time", []model.Operation{on(model.Update, 10, 20, writes("v6", 6)), on(model.Update, 30, 40, writes("v4", 4))}, lin},
		{"an acknowledged write lost", []model.Operation{created, on(model.Update, 30, 40, writes("v5", 5))}, lin},
		{"an acknowledged write at another RV", []model.Operation{created, on(model.Update, 30, 40, writes("v4", 5))}, lin},
		{"an acknowledged deletion lost", []model.Operation{created, on(model.Delete, 30, 40, withRV(3))}, lin},
		{"one deletion acknowledged twice", []model.Operation{deleted, on(model.Delete, 70, 80, withRV(8))}, lin},
		{"an acknowledged deletion whose precondition failed", []model.Operation{updated6, on(model.Delete, 70, 80, ifAt(4)), created10}, lin},
		{"two acknowledged deletions of one object", []model.Operation{updated6, on(model.Delete, 70, 80, withRV(0)),
			on(model.Delete, 70, 80, withRV(0)), created10}, lin},
		{"a refused write took effect", []model.Operation{created, on(model.Update, 30, 40, writes("v4", 0), fails(model.Unavailable))}, lin},
		{"a write with Conflict took effect", []model.Operation{created, on(model.Update, 30, 40, writes("v4", 0), fails(model.Conflict))}, pre},
		{"a deletion with NotFound took effect", []model.Operation{updated6, on(model.Delete, 70, 80, fails(model.NotFound)), created10}, pre},
		{"a precondition ignored", []model.Operation{created, on(model.Update, 30, 40, writes("v4", 4), ifAt(1))}, pre},
		{"an update of a missing object", []model.Operation{on(model.Update, 1, 2, writes("v2", 2))}, pre},
		{"a create of an existing object", []model.Operation{created, on(model.Create, 30, 40, writes("v4", 4))}, pre},
		{"a Conflict without a reason", []model.Operation{created, on(model.Update, 22, 25, writes("lost", 0), ifAt(2), fails(model.Conflict)), updated4}, pre},
		{"AlreadyExists for a missing object", []model.Operation{on(model.Create, 1, 5, writes("no", 0), fails(model.AlreadyExists)), created}, pre},
		{"NotFound for an existing object", []model.Operation{created, on(model.Delete, 22, 25, fails(model.NotFound)), updated4}, pre},
		{"both a stale read and a lost write", []model.Operation{created, updated4, on(model.Get, 45, 46, reads("v2", 2)),
			on(model.Update, 50, 60, writes("v5", 5)), on(model.Update, 45, 46, writes("v10", 0), fails(model.Conflict))},
			guarantees{linearizability.Linearizable, linearizability.Preconditions}},
	}, registerHistory)
}

// TestWhatEtcdIsKnownToHaveReached has a read from 45 on that may miss an update of
// unknown outcome at RV 4.
func TestWhatEtcdIsKnownToHaveReached(t *testing.T) {
	lin := guarantees{linearizability.Linearizable}
	judgeChanges(t, func() *model.History {
		return registerHistory([]model.Operation{on(model.Create, 10, 20, writes("v2", 2)), on(model.Update, 25, 26, writes("v4", 0), fails(model.Unknown)),
			on(model.Get, 45, 46, reads("v2", 2)), on(model.Create, 90, 100, writes("v10", 10))})
	}, []historyRow[func(*model.History)]{
		{"nothing known", func(*model.History) {}, nil},
		{"a member had applied less", func(h *model.History) {
			h.Censuses = []model.Census{{Time: 40, Phase: model.Serving, Server: "s1", Revision: 3}}
		}, nil},
		{"a cache held it at the time of the call", func(h *model.History) {
			h.Windows = []model.CacheWindow{{Time: 45, Server: "s1", Filling: 1, Newest: 4}}
		}, nil},
		{"a cache with an impossible RV", func(h *model.History) {
			h.Windows = []model.CacheWindow{{Time: 19, Server: "s1", Filling: 1, Newest: 11}}
		}, nil},

		{"a member had applied it", func(h *model.History) {
			h.Censuses = []model.Census{{Time: 44, Phase: model.Serving, Server: "s1", Revision: 4}}
		}, lin},
		{"a cache held it", func(h *model.History) {
			h.Windows = []model.CacheWindow{{Time: 44, Server: "s2", Filling: 1, Newest: 5}}
		}, lin},
		{"a list although a cache held it", func(h *model.History) {
			h.Operations[2].Kind, h.Operations[2].Scope = model.List, model.Scope{}
			h.Windows = []model.CacheWindow{{Time: 44, Server: "s2", Filling: 1, Newest: 5}}
		}, guarantees{linearizability.MostRecent}},
	})
}

func TestEveryStaleReadIsReportedWithTheWriteBeforeIt(t *testing.T) {
	verdict := judge(t, registerHistory([]model.Operation{
		on(model.Create, 10, 20, writes("v2", 2)), on(model.Update, 30, 40, writes("v4", 4)),
		on(model.Get, 45, 46, reads("v2", 2)), on(model.Get, 47, 48, reads("v2", 2)),
	}), guarantees{linearizability.Linearizable})
	require.Len(t, verdict.Violations, 2)
	for i, violation := range verdict.Violations {
		require.Equal(t, 3+i, violation.Witness.Operations[0].ID)
		require.Equal(t, 2, violation.Witness.Operations[1].ID)
	}
	require.Equal(t, "c1's get of a/x (operation 3) returned RV 2 after c1's update of a/x (operation 2) had written RV 4, "+
		"which no order of the operations on the object allows", verdict.Violations[0].Sentence())
}

// TestWhatAWriteStores has an update of a/x that stores RV 4 with a label and a node, and
// its request and response.
func TestWhatAWriteStores(t *testing.T) {
	lin := guarantees{linearizability.Linearizable}
	stored := model.Object{Namespace: "a", Name: "x", Value: "v4", Labels: web, Node: "n1", UID: "u", RV: 4}
	for _, row := range []struct {
		name   string
		change func(asked, answered *model.Object, op *model.Operation)
		broken guarantees
	}{
		{"as requested", func(_, _ *model.Object, _ *model.Operation) {}, nil},
		{"without an object in the response", func(_, _ *model.Object, op *model.Operation) { op.Objects = nil }, nil},
		{"with the requested UID", func(asked, _ *model.Object, _ *model.Operation) { asked.UID = "u" }, nil},

		{"other labels", func(asked, _ *model.Object, _ *model.Operation) { asked.Labels = db }, lin},
		{"no label", func(asked, _ *model.Object, _ *model.Operation) { asked.Labels = nil }, lin},
		{"another node", func(asked, _ *model.Object, _ *model.Operation) { asked.Node = "n2" }, lin},
		{"other labels, with an unknown outcome", func(asked, _ *model.Object, op *model.Operation) {
			asked.Labels = db
			op.Err, op.ResultRV, op.Objects = model.Unknown, 0, nil
		}, lin},
		{"a response with other labels", func(_, answered *model.Object, _ *model.Operation) { answered.Labels = db }, lin},
		{"a response with another value", func(_, answered *model.Object, _ *model.Operation) { answered.Value = "v2" }, lin},
		{"a response with another UID", func(_, answered *model.Object, _ *model.Operation) { answered.UID = "u2" }, lin},
		{"a response at another RV", func(_, answered *model.Object, _ *model.Operation) { answered.RV = 2 }, lin},
	} {
		t.Run(row.name, func(t *testing.T) {
			asked, answered := stored, []model.Object{stored}
			asked.RV, asked.UID = 0, ""
			op := on(model.Update, 30, 40, withRV(4))
			op.Object, op.Objects = &asked, answered
			row.change(&asked, &answered[0], &op)
			h := registerHistory([]model.Operation{op})
			h.Truth.Changes[1].Object = stored
			judge(t, h, row.broken)
		})
	}
}

// historyWithUID has the operations, and the same UID at every change.
func historyWithUID(uid string, ops ...model.Operation) *model.History {
	h := registerHistory(ops)
	for change := range model.Each(h.Truth.Changes) {
		change.Object.UID = uid
	}
	return h
}

// TestPreconditionsOnUIDs deletes an object by its UID. If the truth lacks UIDs, as that
// of a real cluster may, no precondition failed.
func TestPreconditionsOnUIDs(t *testing.T) {
	for uid, broken := range map[string]guarantees{"": nil, "wanted": nil, "another": {linearizability.Preconditions}} {
		judge(t, historyWithUID(uid, on(model.Update, 50, 60, writes("v6", 6)), on(model.Delete, 70, 80, withRV(8), ifUID("wanted")),
			on(model.Create, 90, 100, writes("v10", 10))), broken)
	}
}

// TestAConflictByUID has an update with the RV of the current object and the UID of the one before.
func TestAConflictByUID(t *testing.T) {
	for uid, broken := range map[string]guarantees{"gone": nil, "now": {linearizability.Preconditions}, "": {linearizability.Preconditions}} {
		judge(t, historyWithUID("now", on(model.Create, 10, 20, writes("v2", 2)),
			on(model.Update, 22, 25, writes("lost", 0), ifAt(2), ifUID(uid), fails(model.Conflict)), on(model.Update, 30, 40, writes("v4", 4))), broken)
	}
}

// TestADeletionIsOfTheObjectWithTheUID has a delete of unknown outcome whose UID no stored
// object has any more, before one that deletes the object recreated under the same name.
func TestADeletionIsOfTheObjectWithTheUID(t *testing.T) {
	deleted := on(model.Delete, 64, 65, ifUID("now"), fails(model.Unknown))
	for _, uid := range []string{"gone", "now"} {
		judge(t, historyWithUID("now", on(model.Update, 50, 60, writes("v6", 6)), on(model.Delete, 62, 63, ifUID(uid), fails(model.Unknown)), deleted,
			on(model.Create, 90, 100, writes("v10", 10))), nil)
	}
}

// TestAWriteThatTookEffectTwice has an update whose value v4 is stored at 4 and at 6, of
// unknown outcome or acknowledged. A touch may have rewritten the same object at 6.
func TestAWriteThatTookEffectTwice(t *testing.T) {
	touch := func(change func(*model.Operation)) model.Operation {
		op := on(model.Get, 50, 60, change)
		op.Touch = true
		return op
	}
	lin := guarantees{linearizability.Linearizable}
	for _, row := range []struct {
		name   string
		more   []model.Operation
		node   string // of the object at 6
		broken guarantees
	}{
		{"no other operation", nil, "", lin},
		{"a read at 6", []model.Operation{on(model.Get, 50, 60, reads("v4", 6))}, "", lin},
		{"a touch at 6", []model.Operation{touch(reads("v4", 6))}, "", nil},
		{"a touch at 4", []model.Operation{touch(reads("v4", 4))}, "", lin},
		{"a touch of unknown outcome", []model.Operation{touch(fails(model.Unknown))}, "", nil},
		{"a touch that was refused", []model.Operation{touch(fails(model.Unavailable))}, "", lin},
		{"a touch of unknown outcome, of another object than before", []model.Operation{touch(fails(model.Unknown))}, "node-1", lin},
	} {
		for _, update := range []model.Operation{on(model.Update, 30, 40, writes("v4", 0), fails(model.Unknown)), on(model.Update, 30, 40, writes("v4", 4))} {
			t.Run(row.name+", "+update.Outcome(), func(t *testing.T) {
				truth := registerTruth()
				truth.Changes[2].Object.Value, truth.Changes[2].Object.Node = "v4", row.node
				judge(t, &model.History{Truth: truth, Operations: append([]model.Operation{update}, row.more...)}, row.broken)
			})
		}
	}
}

func TestAnUnknownDeletionThatTookEffectTwice(t *testing.T) {
	truth := registerTruth()
	truth.Changes = append(truth.Changes, model.Change{RV: 11, Deleted: true, Object: truth.Changes[4].Object})
	judge(t, &model.History{Truth: truth, Operations: []model.Operation{on(model.Delete, 30, 40, fails(model.Unknown))}},
		guarantees{linearizability.Linearizable})
}

// TestWhatExpiredWasDeletedByNobody has a deletion at 8 that etcd itself made when a
// lease expired.
func TestWhatExpiredWasDeletedByNobody(t *testing.T) {
	updated6, created10 := on(model.Update, 50, 60, writes("v6", 6)), on(model.Create, 90, 100, writes("v10", 10))
	lin := guarantees{linearizability.Linearizable}
	judgeEach(t, []historyRow[[]model.Operation]{
		{"refused deletes", []model.Operation{updated6, on(model.Delete, 70, 80, fails(model.NotFound)),
			on(model.Delete, 70, 80, fails(model.Unavailable)), created10}, nil},
		{"a delete of unknown outcome", []model.Operation{updated6, on(model.Delete, 102, 103, fails(model.Unknown)), created10}, nil},
		{"an acknowledged delete", []model.Operation{updated6, on(model.Delete, 70, 80, withRV(8)), created10}, lin},
		{"a stale read", []model.Operation{created10, on(model.Get, 105, 106, reads("v6", 6))}, lin},
	}, func(ops []model.Operation) *model.History {
		h := registerHistory(ops)
		h.Truth.Changes[3].Expired = true
		return h
	})
}

// A version that a recorded write and an unrecorded one both made is made once too
// often, in any order.
func TestWhatIsSaidToHaveExpiredAndWasWritten(t *testing.T) {
	history := registerHistory([]model.Operation{on(model.Update, 50, 60, writes("v6", 6))})
	for i := range history.Truth.Changes {
		history.Truth.Changes[i].Expired = true
	}
	judge(t, history, guarantees{linearizability.Linearizable})
}

func TestRealTimeHoldsAcrossObjects(t *testing.T) {
	truth := model.Truth{Revision: 3, Changes: []model.Change{
		{RV: 2, Object: model.Object{Name: "x", Value: "v2"}}, {RV: 3, Object: model.Object{Name: "y", Value: "v3"}}}}
	first := model.Operation{ID: 1, Client: "c1", Kind: model.Create, Call: 10, Return: 20, Object: &model.Object{Name: "y", Value: "v3"}, ResultRV: 3}
	second := model.Operation{ID: 2, Client: "c2", Kind: model.Create, Call: 20, Return: 30, Object: &model.Object{Name: "x", Value: "v2"}, ResultRV: 2}
	judge(t, &model.History{Truth: truth, Operations: []model.Operation{first, second}}, nil)
	second.Client = "c1"
	judge(t, &model.History{Truth: truth, Operations: []model.Operation{first, second}}, guarantees{linearizability.Linearizable})
	second.Client, second.Call = "c2", 21
	judge(t, &model.History{Truth: truth, Operations: []model.Operation{first, second}}, guarantees{linearizability.Linearizable})
}

// TestUnknownDeletionsNeedNoSearch has so many of them, in a history without an order,
// that trying each at every place would not terminate.
func TestUnknownDeletionsNeedNoSearch(t *testing.T) {
	ops := []model.Operation{on(model.Create, 10, 20, writes("v2", 2))}
	for range 40 {
		ops = append(ops, on(model.Delete, 22, 23, fails(model.Unknown)))
	}
	ops = append(ops, on(model.Update, 30, 40, writes("v4", 4)), on(model.Update, 50, 60, writes("v6", 6)),
		on(model.Get, 62, 63, reads("v6", 6)), on(model.Get, 82, 83, fails(model.NotFound)), on(model.Create, 90, 100, writes("v10", 10)))
	judge(t, registerHistory(slices.Clone(ops)), nil)
	for range 40 {
		ops = append(ops, on(model.Delete, 63, 64, ifAt(6), fails(model.Unknown)), on(model.Delete, 43, 44, ifAt(4), fails(model.Unknown)))
	}
	judge(t, registerHistory(append(ops, on(model.Get, 102, 103, reads("v6", 6)))), guarantees{linearizability.Linearizable})
}

// TestUnknownDeletionsKeepTheirPreconditions has two deletions, of which the delete
// that was called first can only have made the second.
func TestUnknownDeletionsKeepTheirPreconditions(t *testing.T) {
	h := registerHistory([]model.Operation{on(model.Delete, 1, 2, ifAt(10), fails(model.Unknown)), on(model.Delete, 62, 63, fails(model.Unknown))})
	h.Truth.Changes = append(h.Truth.Changes, model.Change{RV: 11, Deleted: true, Object: h.Truth.Changes[4].Object})
	judge(t, h, nil)
}

func TestAnImpossibleWriteDoesNotHideAStaleRead(t *testing.T) {
	verdict := judge(t, registerHistory([]model.Operation{
		on(model.Update, 10, 20, writes("v6", 6)), on(model.Update, 30, 40, writes("v4", 4)), on(model.Get, 45, 46, reads("v2", 2)),
	}), guarantees{linearizability.Linearizable})
	require.Len(t, verdict.Violations, 2, "%v", verdict.Violations)
	require.Equal(t, 1, verdict.Violations[0].Witness.Operations[0].ID)
	require.Equal(t, 3, verdict.Violations[1].Witness.Operations[0].ID)
}

// TestSearchThatTakesTooLongIsInconclusive gives porcupine no time at all.
func TestSearchThatTakesTooLongIsInconclusive(t *testing.T) {
	config := lenient()
	config.SearchTimeout = time.Nanosecond
	var ops []model.Operation
	for range 2000 {
		ops = append(ops, on(model.Get, 5, 15, fails(model.NotFound)))
	}
	verdict := linearizability.Check(registerHistory(append(ops, on(model.Create, 10, 20, writes("v2", 2)))), config)
	require.Equal(t, linearizability.Inconclusive, verdict.Outcome)
	require.Equal(t, "the search for a linearization took longer than SearchTimeout, 1ns", verdict.Reason)
}
