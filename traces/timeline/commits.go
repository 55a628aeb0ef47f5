package timeline

import "github.com/watchsim/watchsim/model"

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
	authors, shown := model.NewAuthors(h), model.Shown(h)
	all := make([]commit, len(h.Truth.Changes))
	from := int64(0)
	for i := range all {
		change, by := &h.Truth.Changes[i], h.End
		if told, ok := shown.Reached(change.RV); ok {
			by = min(by, told.Time)
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
