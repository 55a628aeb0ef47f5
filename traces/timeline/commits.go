package timeline

import (
	"sort"

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
	authors, told := model.NewAuthors(h), toldOf(h)
	all := make([]commit, len(h.Truth.Changes))
	from := int64(0)
	for i := range all {
		change, by := &h.Truth.Changes[i], h.End
		if at := sort.Search(len(told), func(j int) bool { return told[j].RV >= change.RV }); at < len(told) {
			by = min(by, told[at].Time)
		}
		author, known := authors.Of(change)
		if known {
			from = max(from, h.Operations[author].Call)
		} else {
			author = -1
		}
		// A history that breaks a guarantee may show uncommitted changes.
		all[i] = commit{min(from, by), max(from, by), author}
	}
	return all
}

// toldOf returns when clients learned that etcd had reached a revision. Those beyond the
// truth do not count.
func toldOf(h *model.History) model.Staircase {
	var all []model.Moment
	tell := func(rv, at int64) {
		if rv > 0 && rv <= h.Truth.Revision {
			all = append(all, model.Moment{Time: at, RV: rv})
		}
	}
	for op := range model.Each(h.Operations) {
		if op.Err == model.OK && op.Return != model.Pending {
			tell(op.ResultRV, op.Return)
		}
	}
	for s := range model.Each(h.Streams) {
		for event := range model.Each(s.Events) {
			tell(event.RV, event.Time)
		}
	}
	return model.NewStaircase(all)
}
