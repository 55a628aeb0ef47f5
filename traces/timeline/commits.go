package timeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// commit says between which times a change was committed, as far as clients can
// know: a history has no commit times of etcd.
type commit struct {
	// from is the latest call among the requests that made it and the changes
	// before it; by is when anybody first observed it, or a later revision.
	from, by int64
	// author is the index of the operation that made it, -1 if unknown.
	author int
}

// commits returns one for each change.
func commits(h *model.History) []commit {
	authors := model.NewAuthors(h)
	told := toldOf(h)
	all := make([]commit, len(h.Truth.Changes))
	next, by := len(told)-1, h.End
	for i := len(all) - 1; i >= 0; i-- {
		for ; next >= 0 && told[next].rv >= h.Truth.Changes[i].RV; next-- {
			by = min(by, told[next].at)
		}
		all[i].by = by
	}
	from := int64(0)
	for i := range all {
		all[i].author = -1
		if author, known := authors.Of(&h.Truth.Changes[i]); known {
			all[i].author = author
			from = max(from, h.Operations[author].Call)
		}
		// A history that breaks a guarantee may show uncommitted changes.
		all[i].from, all[i].by = min(from, all[i].by), max(from, all[i].by)
	}
	return all
}

// told is a time at which a client learned that etcd had reached a revision.
type told struct{ rv, at int64 }

// toldOf returns the revisions that clients observed, in order. Those beyond the truth
// do not count.
func toldOf(h *model.History) []told {
	most := h.Truth.Revision
	if most == 0 {
		most = math.MaxInt64
	}
	var all []told
	for op := range model.Each(h.Operations) {
		if op.Err == model.OK && op.Return != model.Pending && op.ResultRV > 0 && op.ResultRV <= most {
			all = append(all, told{op.ResultRV, op.Return})
		}
	}
	for s := range model.Each(h.Streams) {
		for event := range model.Each(s.Events) {
			if event.RV > 0 && event.RV <= most {
				all = append(all, told{event.RV, event.Time})
			}
		}
	}
	slices.SortFunc(all, func(a, b told) int { return cmp.Or(cmp.Compare(a.rv, b.rv), cmp.Compare(a.at, b.at)) })
	return all
}
