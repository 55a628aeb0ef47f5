package model

// Authors says which operations made which changes, as far as a history tells:
// creates and updates write unique values, and other writes return the RV.
type Authors struct {
	changes   map[int64]int
	deletions map[int64]int
}

// written is the content that a write gave an object.
type written struct {
	key   Key
	value string
}

// NewAuthors returns the authors of the changes of a history.
func NewAuthors(h *History) Authors {
	a := Authors{map[int64]int{}, map[int64]int{}}
	writes, touches := map[written]int{}, map[int64]int{}
	for i := range h.Operations {
		op := &h.Operations[i]
		switch {
		case (op.Kind == Create || op.Kind == Update) && op.Object != nil:
			writes[written{op.Object.Key(), op.Object.Value}] = i
		case op.Err != OK || op.ResultRV <= 0:
		case op.Kind == Delete:
			a.deletions[op.ResultRV] = i
		case len(op.Patch) > 0:
			if _, earlier := touches[op.ResultRV]; !earlier {
				touches[op.ResultRV] = i
			}
		}
	}
	for i := range h.Truth.Changes {
		change := &h.Truth.Changes[i]
		content := written{change.Object.Key(), change.Object.Value}
		by, ok := writes[content]
		delete(writes, content) // a later version with it was patched
		if !ok {
			by, ok = touches[change.RV]
		}
		if ok && !change.Deleted {
			a.changes[change.RV] = by
		}
	}
	return a
}

// Of returns the index of the operation that made a change; ok is false if none is
// known to have made it.
func (a Authors) Of(change *Change) (operation int, ok bool) {
	if change.Deleted {
		return a.Deletion(change.RV)
	}
	operation, ok = a.changes[change.RV]
	return operation, ok
}

// Deletion returns the index of the operation whose response says that it deleted an
// object at an RV; ok is false if there is none.
func (a Authors) Deletion(rv int64) (operation int, ok bool) {
	operation, ok = a.deletions[rv]
	return operation, ok
}
