package linearizability

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// checkLists judges every list and every page of one.
func (c *checker) checkLists() {
	pages := c.newPages()
	for i := range c.history.Operations {
		op := &c.history.Operations[i]
		if op.Kind != model.List || unknown(op) || op.Err != model.OK {
			continue
		}
		p, known := pages.of(op)
		if !known {
			c.undecided(fmt.Sprintf("%s continues a list that the history lacks", describeOperation(op)))
			continue
		}
		c.checkListState(op, p)
		if op.Continues == 0 {
			c.checkListFreshness(op)
		} else {
			c.checkPageRV(op, p)
		}
	}
}

// freshness is what a list asks for with its resourceVersion.
type freshness int

const (
	mostRecent freshness = iota
	anyState
	notOlderThan
	exactly
)

// freshnessOf returns what the first page of a list asks for.
func freshnessOf(op *model.Operation) freshness {
	switch {
	case op.Match == model.MatchExact:
		return exactly
	case op.RV == model.RVUnset:
		return mostRecent
	case op.RV == 0:
		return anyState
	case op.Match == model.MatchUnset && op.Limit > 0 && !op.Scope.Single():
		// The legacy rule: a limit and an RV without a match mean exactly that
		// RV. It holds for collections only: Kubernetes lists a single object,
		// where there is nothing to page through, at any RV not older.
		return exactly
	}
	return notOlderThan
}

// checkListFreshness judges whether a first page is at an RV that the request
// allows. It is a scan where a search would do as well: the RV of a list says
// which writes it has seen.
func (c *checker) checkListFreshness(op *model.Operation) {
	switch freshnessOf(op) {
	case mostRecent:
		if rv, before := c.bounds.atLeast(op.Call); op.ResultRV < rv {
			c.violate(MostRecent, Witness{Client: op.Client, Operations: []*model.Operation{op, before}, RVs: []int64{op.ResultRV, rv}},
				fmt.Sprintf("%s is at RV %d, but %s had returned with RV %d before", describeOperation(op), op.ResultRV, describeOperation(before), rv))
		}
	case notOlderThan:
		if op.ResultRV < op.RV {
			c.violate(NotOlderThan, witnessOf(op, op.ResultRV),
				fmt.Sprintf("%s is at RV %d", describeOperation(op), op.ResultRV))
		}
	case exactly:
		if op.ResultRV != op.RV {
			c.violate(Exact, witnessOf(op, op.ResultRV),
				fmt.Sprintf("%s is at RV %d", describeOperation(op), op.ResultRV))
		}
	case anyState:
		// Any state that was real will do, and checkListState judges that.
	}
}

// checkListState judges whether a list or page holds what it must at the RV it
// returned, and whether that RV was real by then.
func (c *checker) checkListState(op *model.Operation, p page) {
	if latest := c.bounds.atMost(op.Return); op.ResultRV < 1 || op.ResultRV > latest {
		guarantee := ExactState
		if op.Continues == 0 && freshnessOf(op) == anyState {
			guarantee = Any
		}
		c.violate(guarantee, witnessOf(op, op.ResultRV),
			fmt.Sprintf("%s is at RV %d, but etcd was at most at revision %d by then", describeOperation(op), op.ResultRV, latest))
		return
	}
	want := p.rest(c.store.List(p.first.Scope, p.first.Selector, op.ResultRV))
	got := pointers(op.Objects)
	left := 0
	if op.HasMore && len(got) < len(want) {
		// More is to come, so this page need only be the beginning.
		left = len(want) - len(got)
		want = want[:len(got)]
	}
	c.checkPageShape(op, left)
	differences := compareStates(want, got)
	if len(differences) == 0 {
		return
	}
	guarantee := ExactState
	if op.Continues != 0 || op.HasMore {
		for _, d := range differences {
			if d.flaw == missing || d.flaw == doubled || d.flaw == foreign {
				guarantee = Paged
			}
		}
	}
	c.violate(guarantee, witnessOf(op, rvs(differences)...),
		fmt.Sprintf("%s is not the state at its RV %d: %s", describeOperation(op), op.ResultRV, describeDifferences(differences)))
}
