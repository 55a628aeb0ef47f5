package model

// Authors tells which operations made which changes, as far as a history says:
// contents are unique, and a deletion is told its RV.
type Authors struct {
	writes    map[written]int
	deletions map[int64]int
}

// written is what a write made of an object.
type written struct {
	key   Key
	value string
}

// NewAuthors goes through the operations of a history.
func NewAuthors(h *History) Authors {
	a := Authors{map[written]int{}, map[int64]int{}}
	for i := range h.Operations {
		op := &h.Operations[i]
		switch {
		case (op.Kind == Create || op.Kind == Update) && op.Object != nil:
			a.writes[written{op.Object.Key(), op.Object.Value}] = i
		case op.Kind == Delete && op.Err == OK && op.ResultRV > 0:
			a.deletions[op.ResultRV] = i
		}
	}
	return a
}

// Of returns the index of the operation that made a change; ok is false if none says
// that it did.
func (a Authors) Of(change *Change) (operation int, ok bool) {
	if change.Deleted {
		return a.Deletion(change.RV)
	}
	operation, ok = a.writes[written{change.Object.Key(), change.Object.Value}]
	return operation, ok
}

// Deletion returns the index of the operation that was told that it deleted an object
// at an RV; ok is false if none was.
func (a Authors) Deletion(rv int64) (operation int, ok bool) {
	operation, ok = a.deletions[rv]
	return operation, ok
}
