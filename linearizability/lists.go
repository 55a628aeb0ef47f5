package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// judgeReads judges the gets with a resourceVersion, every list, and every page of
// one.
func judgeReads(f *facts, out *findings) {
	for op := range model.Each(f.history.Operations) {
		switch {
		case op.Lost():
		case op.Kind == model.List && op.Err == model.OK:
			f.judgeList(op, out)
		case op.Kind == model.Get && op.RV != model.RVUnset && op.Err == model.OK:
			f.judgeGot(op, out)
		case op.Kind == model.Get && op.RV != model.RVUnset && op.Err == model.NotFound:
			f.judgeAbsent(op, out)
		}
	}
}

// judgeList judges a list or page that was returned.
func (f *facts) judgeList(op *model.Operation, out *findings) {
	p, known := f.pages.of(op)
	if !known {
		out.undecided(HistoryIncomplete, "%s continues a list that is not in the history", op.Describe())
		return
	}
	f.judgeListState(op, p, out)
	if op.Continues == 0 {
		f.judgeListFreshness(op, out)
	} else {
		f.judgePageRV(op, p, out)
	}
}

// freshness is what a read requests with its resourceVersion and match.
type freshness int

const (
	mostRecent freshness = iota
	anyState
	notOlderThan
	exactly
	// perhapsExactly is exactly if the resource is namespaced, and notOlderThan if not, which the history does not say.
	perhapsExactly
)

// freshnessOf returns what a list or get requests. A page that continues a list must have
// the state of that list.
func freshnessOf(op *model.Operation) freshness {
	switch {
	case op.Match == model.MatchExact || op.Continues != 0:
		return exactly
	case op.RV == model.RVUnset:
		return mostRecent
	case op.RV == 0:
		return anyState
	case op.Match == model.MatchUnset && op.Limit > 0 && !op.Scope.Single():
		// The legacy rule: a limit and an RV without a match mean exactly that
		// RV. It holds for collections only: Kubernetes lists a single object,
		// which has no further pages, at any RV not older.
		if op.Scope.Name != "" {
			return perhapsExactly
		}
		return exactly
	}
	return notOlderThan
}

// judgeListFreshness judges whether a first page is at an RV that the request
// allows. It needs no search, because the RV of a list says which writes the list
// includes.
func (f *facts) judgeListFreshness(op *model.Operation, out *findings) {
	witness := about(op, op.ResultRV).want(op.RV)
	switch freshnessOf(op) {
	case mostRecent:
		f.judgeNewest(op, staleRead, out)
	case notOlderThan, perhapsExactly:
		if op.ResultRV < op.RV {
			out.violate(NotOlderThan, olderThanAsked, witness)
		}
	case exactly:
		if op.ResultRV != op.RV {
			out.violate(Exact, notExact, witness)
		}
	case anyState:
		// Any state that existed is allowed, and judgeListState judges that.
	}
}

// judgeNewest judges whether a list or page that must be at the newest state is. stale is the
// code if it misses a write that had returned.
func (f *facts) judgeNewest(op *model.Operation, stale *Code, out *findings) {
	if rv, before := f.bounds.minRVFor(op); op.ResultRV < rv {
		out.violate(MostRecent, stale, about(op, op.ResultRV, rv).after(before))
	} else {
		f.judgeUnseen(MostRecent, op, op.ResultRV, out)
	}
}

// judgeListState judges whether a list or page has the right items for the RV that
// it returned, and whether etcd had reached that RV.
func (f *facts) judgeListState(op *model.Operation, p page, out *findings) {
	if latest := f.bounds.maxRV(op.Return); op.ResultRV < 1 || op.ResultRV > latest {
		guarantee := ExactState
		if freshnessOf(op) == anyState {
			guarantee = Any
		}
		out.violate(guarantee, futureRead, about(op, op.ResultRV).want(latest))
		return
	}
	want := p.rest(f.store.List(p.first.Scope, p.first.Selector, op.ResultRV))
	got := slices.Collect(model.Each(op.Objects))
	left := 0
	if op.HasMore && len(got) < len(want) {
		// There are more pages, so this one need only be the beginning.
		left = len(want) - len(got)
		want = want[:len(got)]
	}
	judgePageShape(op, left, out)
	differences := compareStates(want, got)
	if len(differences) == 0 {
		return
	}
	guarantee, flaws := ExactState, []Flaw{Missing, Doubled, Foreign}
	if paged := op.Continues != 0 || op.HasMore; paged && slices.ContainsFunc(differences, func(d Difference) bool { return slices.Contains(flaws, d.Flaw) }) {
		guarantee = Paged
	}
	out.violate(guarantee, wrongState, about(op, rvs(differences)...).want(op.ResultRV).differing(differences...))
}
