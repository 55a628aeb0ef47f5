package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// judgeConflicts judges Preconditions for the writes that were refused with Conflict and
// require no RV: those that require one are judged with the order of calls. The storage
// repeats an update or delete that has lost a race, so that only a precondition that
// failed explains a conflict.
//
// Whether a request had preconditions is known where somebody has called the storage
// itself; a recording of a real cluster need not show them.
func judgeConflicts(f *facts, out *findings) {
	for op := range model.Each(f.history.Operations) {
		if !op.IsWrite() || op.Err != model.Conflict || op.Precondition != 0 || op.ErrRV == 0 {
			continue
		}
		uid := requiredUID(op)
		if uid == "" {
			out.violate(Preconditions, conflictForNothing, about(op))
			continue
		}
		if !f.met(op, func(object *model.Object) bool { return object.UID != uid }) {
			out.violate(Preconditions, conflictUnexplained, about(op))
		}
	}
}

// met reports whether a version of its object was stored, while the operation lasted, of
// which something holds.
func (f *facts) met(op *model.Operation, holds func(*model.Object) bool) bool {
	from, _ := f.bounds.atLeast(op.Call)
	latest := f.bounds.atMost(op.Return)
	return slices.ContainsFunc(f.store.Versions(op.Key()), func(v model.Version) bool {
		return v.RV <= latest && v.Until > from && v.Object != nil && holds(v.Object)
	})
}
