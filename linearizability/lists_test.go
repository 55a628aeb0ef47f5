package linearizability_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// listed returns a list with its result: the objects written at these RVs.
func listed(request model.Operation, rv int64, objects ...int64) model.Operation {
	request.Client, request.Server, request.Kind = "c1", "s1", model.List
	if request.Return == 0 {
		request.Call, request.Return = 500, 510
	}
	request.ResultRV = rv
	for _, changed := range objects {
		request.Objects = append(request.Objects, *objectAt(changed))
	}
	return request
}

// listHistory has the operations that are set: a row without one leaves it empty.
func listHistory(ops ...model.Operation) *model.History {
	ops = slices.DeleteFunc(ops, func(op model.Operation) bool { return op.Kind == "" })
	for i := range ops {
		if ops[i].ID == 0 {
			ops[i].ID = i + 1
		}
	}
	return &model.History{Truth: shortTruth(), Operations: ops, Healed: 4000, End: 4000}
}

// acknowledged is the write that made RV 12, returned at 400; a list called after
// 400 must include it.
func acknowledged() model.Operation {
	return model.Operation{Client: "c2", Kind: model.Delete, Call: 390, Return: 400, ResultRV: 12, Scope: model.Scope{Namespace: "a", Name: "y"}}
}

// upcoming is the write that made RV 15, called at 600.
func upcoming() model.Operation {
	return model.Operation{Client: "c2", Kind: model.Update, Call: 600, Return: 610, ResultRV: 15, Object: objectAt(15)}
}

// between sets an operation's times between these two.
func between(op model.Operation) *model.History { return listHistory(acknowledged(), op, upcoming()) }

// The state at RV 10 is a/x at 7, a/y at 4 and b/z at 9; at 12 and 13 it is a/x
// at 7 and b/z at 9.
func TestLists(t *testing.T) {
	unset := model.Operation{RV: model.RVUnset}
	exact, recent := guarantees{linearizability.ExactState}, guarantees{linearizability.MostRecent}
	altered := listed(model.Operation{RV: 0}, 10, 7, 4, 9)
	altered.Objects[1].Value = "other"
	judgeEach(t, []historyRow[model.Operation]{
		{"most recent", listed(unset, 12, 7, 9), nil},
		{"most recent, newer than any write returned", listed(unset, 13, 7, 9), nil},
		{"called at the time another client's write returned", listed(model.Operation{RV: model.RVUnset, Call: 400, Return: 410}, 11, 7, 4, 9), nil},
		{"any", listed(model.Operation{RV: 0}, 4, 2, 4), nil},
		{"any, with a limit ignored", listed(model.Operation{RV: 0, Limit: 1}, 4, 2, 4), nil},
		{"not older than", listed(model.Operation{RV: 9, Match: model.MatchNotOlderThan}, 10, 7, 4, 9), nil},
		{"not older than, by default", listed(model.Operation{RV: 9}, 10, 7, 4, 9), nil},
		{"not older than, with a limit", listed(model.Operation{RV: 9, Limit: 5, Match: model.MatchNotOlderThan}, 10, 7, 4, 9), nil},
		{"exact", listed(model.Operation{RV: 4, Match: model.MatchExact}, 4, 2, 4), nil},
		{"exact by the legacy rule", listed(model.Operation{RV: 4, Limit: 5}, 4, 2, 4), nil},
		{"one object with a limit", listed(model.Operation{RV: 4, Limit: 5, Scope: model.Scope{Namespace: "a", Name: "y"}}, 10, 4), nil},
		{"one object by name in all namespaces, with a limit", listed(model.Operation{RV: 9, Limit: 5, Scope: model.Scope{Name: "y"}}, 10, 4), nil},
		{"selected", listed(model.Operation{RV: 0, Selector: model.Selector{Labels: web}}, 10, 9), nil},
		{"scoped", listed(model.Operation{RV: 0, Scope: model.Scope{Namespace: "a"}}, 10, 7, 4), nil},
		{"empty", listed(model.Operation{RV: 0, Scope: model.Scope{Namespace: "c"}}, 10), nil},
		{"failed", model.Operation{Kind: model.List, Call: 1, Return: 2, Err: model.Unavailable}, nil},

		{"older than a write that had returned", listed(unset, 11, 7, 4, 9), recent},
		{"called at the time the client's own write returned", by("c2", listed(model.Operation{RV: model.RVUnset, Call: 400, Return: 410}, 11, 7, 4, 9)), recent},
		{"older than requested", listed(model.Operation{RV: 11, Match: model.MatchNotOlderThan}, 10, 7, 4, 9), guarantees{linearizability.NotOlderThan}},
		{"one object by name in all namespaces, older than requested", listed(model.Operation{RV: 11, Limit: 5, Scope: model.Scope{Name: "y"}}, 10, 4), guarantees{linearizability.NotOlderThan}},
		{"newer than the exact RV requested", listed(model.Operation{RV: 9, Match: model.MatchExact}, 10, 7, 4, 9), guarantees{linearizability.Exact}},
		{"newer than the RV of the legacy rule", listed(model.Operation{RV: 9, Limit: 5}, 10, 7, 4, 9), guarantees{linearizability.Exact}},
		{"an item missing", listed(unset, 12, 7), exact},
		{"an item too many", listed(unset, 12, 7, 4, 9), exact},
		{"an item twice", listed(unset, 12, 7, 9, 9), exact},
		{"an item newer than the list", listed(unset, 12, 15, 9), exact},
		{"an item older than the list", listed(unset, 12, 5, 9), exact},
		{"an item out of scope", listed(model.Operation{RV: 0, Scope: model.Scope{Namespace: "a"}}, 10, 7, 4, 9), exact},
		{"an item with another content", altered, exact},
		{"an item that does not match", listed(model.Operation{RV: 0, Selector: model.Selector{Labels: web}}, 10, 7, 9), exact},
		{"a future RV", listed(unset, 15, 15, 9), exact},
		{"no RV", listed(model.Operation{RV: 0}, 0), guarantees{linearizability.Any}},
		{"an RV that never existed", listed(model.Operation{RV: 0}, 21, 15, 9), guarantees{linearizability.Any}},
	}, between)
}

func TestPages(t *testing.T) {
	page := func(id, continues int, remaining int64, more bool, rv int64, objects ...int64) model.Operation {
		op := listed(model.Operation{RV: model.RVUnset, Limit: 1, Continues: continues}, rv, objects...)
		op.ID, op.Call, op.Return = id, int64(id*100), int64(id*100+10)
		op.Remaining, op.HasMore = remaining, more
		return op
	}
	expired := func(id, continues int) model.Operation {
		op := page(id, continues, -1, false, 0)
		op.Err = model.Expired
		return op
	}
	chain := func(change func(ops []model.Operation)) []model.Operation {
		ops := []model.Operation{page(1, 0, 2, true, 10, 7), page(2, 1, 1, true, 10, 4), page(3, 2, -1, false, 10, 9)}
		change(ops)
		return ops
	}
	same := func([]model.Operation) {}
	paged := guarantees{linearizability.Paged}
	judgeEach(t, []historyRow[[]model.Operation]{
		{"to the end", chain(same), nil},
		{"not continued", chain(same)[:2], nil},
		{"a page read twice", append(chain(same), page(4, 1, 1, true, 10, 4)), nil},
		{"no counts", chain(func(ops []model.Operation) { ops[0].Remaining, ops[1].Remaining = -1, -1 }), nil},
		{"continued with the newest state after expiry", []model.Operation{page(1, 0, 2, true, 10, 7), expired(2, 1), page(3, 2, -1, false, 13, 9)}, nil},

		{"another RV on the second page", []model.Operation{page(1, 0, 2, true, 10, 7), page(2, 1, -1, false, 13, 9)}, paged},
		{"an item lost between pages", []model.Operation{page(1, 0, 2, true, 10, 7), page(2, 1, -1, false, 10, 9)}, paged},
		{"an item on two pages", []model.Operation{page(1, 0, 2, true, 10, 7), page(2, 1, -1, true, 10, 7)}, paged},
		{"ends too early", []model.Operation{page(1, 0, -1, false, 10, 7)}, guarantees{linearizability.ExactState}},
		{"the last page ends too early", []model.Operation{page(1, 0, 2, true, 10, 7), page(2, 1, -1, false, 10, 4)}, paged},
		{"counts one too many", chain(func(ops []model.Operation) { ops[0].Remaining = 3 }), paged},
		{"counts one too few", chain(func(ops []model.Operation) { ops[1].Remaining = 0 }), paged},
		{"a token with nothing remaining", append(chain(func(ops []model.Operation) { ops[2].HasMore = true }), page(4, 3, -1, false, 10)), paged},
		{"counts remaining items but has no token", chain(func(ops []model.Operation) { ops[2].Remaining = 1 }), paged},
		{"more than the limit", []model.Operation{page(1, 0, 1, true, 10, 7, 4)}, paged},
		{"a token without a limit", chain(func(ops []model.Operation) { ops[0].Limit = 0 }), paged},
		{"another content", chain(func(ops []model.Operation) { ops[1].Objects[0].Value = "other" }), guarantees{linearizability.ExactState}},
		{"an older state after expiry", []model.Operation{page(1, 0, 2, true, 10, 7),
			{ID: 2, Client: "c2", Kind: model.Delete, Call: 150, Return: 160, ResultRV: 12, Scope: model.Scope{Namespace: "a", Name: "y"}},
			expired(3, 1), page(4, 3, -1, false, 10, 4, 9)}, guarantees{linearizability.MostRecent}},
	}, func(ops []model.Operation) *model.History {
		h := listHistory(ops...)
		h.Truth.Compactions = []model.Compaction{{RV: 11, Time: 150}}
		return h
	})
}

func TestPageOfAnUnknownListIsInconclusive(t *testing.T) {
	op := listed(model.Operation{RV: model.RVUnset, Limit: 1, Continues: 77}, 10, 9)
	verdict := linearizability.Check(listHistory(op), lenient())
	require.Equal(t, linearizability.Inconclusive, verdict.Outcome)
	require.Contains(t, verdict.Reason, "continues a list that is not in the history")
}

func TestGetsThatNameAnRV(t *testing.T) {
	get := func(rv int64, code model.Code, change int64) model.Operation {
		op := model.Operation{Client: "c1", Server: "s1", Kind: model.Get, RV: rv, Err: code, Call: 500, Return: 510,
			Scope: model.Scope{Namespace: "a", Name: "y"}}
		if change != 0 {
			op.Objects, op.ResultRV = []model.Object{*objectAt(change)}, change
		}
		return op
	}
	older, any := guarantees{linearizability.NotOlderThan}, guarantees{linearizability.Any}
	altered := get(0, model.OK, 4)
	altered.Objects[0].Value = "other"
	future := get(0, model.OK, 15)
	future.Scope.Name = "x"
	// a/y is written at RV 4 and deleted at RV 12, which had happened by 400.
	judgeEach(t, []historyRow[model.Operation]{
		{"any, old", get(0, model.OK, 4), nil},
		{"any, before it was created", get(0, model.NotFound, 0), nil},
		{"still there", get(11, model.OK, 4), nil},
		{"deleted by the time of the response", get(11, model.NotFound, 0), nil},
		{"deleted", get(13, model.NotFound, 0), nil},
		{"not yet created", get(3, model.NotFound, 0), nil},

		{"superseded", get(12, model.OK, 4), older},
		{"a future object", future, any},
		{"another content", altered, any},
		{"another object", get(0, model.OK, 5), any},
	}, between)
	recreated := on(model.Get, 200, 210, fails(model.NotFound))
	recreated.RV = 11
	judge(t, registerHistory([]model.Operation{recreated}), older)
	early := get(5, model.NotFound, 0)
	early.Call, early.Return = 100, 110
	judge(t, listHistory(early, acknowledged()), older)
}
