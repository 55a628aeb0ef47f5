package linearizability

import "github.com/watchsim/watchsim/model"

// page is the position of a page in its list.
type page struct {
	// first is the first page. Its scope, selector and RV apply to all pages.
	first *model.Operation
	// rv is the RV of the pages before, 0 for a first page and after a continue
	// token that had expired: the client then continues with the newest state,
	// from the same key.
	rv int64
	// after is the key of the last object on the pages before.
	after    model.Key
	hasAfter bool
}

// rest returns the objects of a whole list that follow the pages before.
func (p page) rest(whole []*model.Object) []*model.Object {
	if !p.hasAfter {
		return whole
	}
	for i, object := range whole {
		if p.after.Compare(object.Key()) < 0 {
			return whole[i:]
		}
	}
	return nil
}

// pages are the lists by ID, to find the page before each page.
type pages map[int]*model.Operation

func newPages(history *model.History) pages {
	p := pages{}
	for op := range model.Each(history.Operations) {
		if op.Kind == model.List {
			p[op.ID] = op
		}
	}
	return p
}

// of returns the position of a page, and false if a page before it is unknown.
func (p pages) of(op *model.Operation) (page, bool) {
	result := page{first: op}
	expired := false
	// The number of lists bounds cycles of continuations.
	for range len(p) {
		if result.first.Continues == 0 {
			return result, true
		}
		before := p[result.first.Continues]
		if before == nil {
			return page{}, false
		}
		if before.Err == model.Expired {
			expired = true
		} else if result.rv == 0 && !expired {
			result.rv = before.ResultRV
		}
		if n := len(before.Objects); n > 0 && !result.hasAfter {
			result.after, result.hasAfter = before.Objects[n-1].Key(), true
		}
		result.first = before
	}
	return page{}, false
}

// judgePageRV judges whether a continuation is at the RV of the pages before it.
func (f *facts) judgePageRV(op *model.Operation, p page, out *findings) {
	if p.rv == 0 {
		f.judgeNewest(op, stalePage, out)
		return
	}
	if op.ResultRV != p.rv {
		out.violate(Paged, pagesDiffer, about(op, p.rv, op.ResultRV).after(p.first))
	}
	// With a selector there may be a token for keys of which none matches.
	if len(op.Objects) == 0 && !op.HasMore && op.Selector.Empty() && (op.Scope.Name == "" || op.Scope.Single()) {
		out.violate(Paged, surplusToken, about(op, op.ResultRV))
	}
}

// judgePageShape judges a page's size and its remainingItemCount. Kubernetes leaves
// the count out if there is a selector, and ignores the limit of a list at RV 0 that
// the cache serves.
func judgePageShape(op *model.Operation, left int, out *findings) {
	witness := about(op, op.ResultRV)
	switch {
	case op.HasMore && int64(len(op.Objects)) > op.Limit:
		out.violate(Paged, pageTooLong, witness.want(op.Limit).got(int64(len(op.Objects))))
	case op.HasMore && op.Remaining >= 0 && op.Remaining != int64(left):
		out.violate(Paged, wrongRemaining, witness.want(int64(left)).got(op.Remaining))
	case !op.HasMore && op.Remaining > 0:
		out.violate(Paged, noToken, witness.got(op.Remaining))
	}
}
