package linearizability

import (
	"cmp"
	"math"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// claimDeletions finds the version that each delete of an object made, where the server
// did not return its RV. Each acknowledged delete must have made one of the unclaimed
// deletions, and deletes of unknown outcome the others. A deletion that no delete can
// have made, by the times of their calls and responses, is taken as given.
//
// A delete of unknown outcome may take effect at any time after its call. If several
// can explain a deletion, the first called can, and the others are assumed to have no
// effect. The search decides which of the rest made which deletion; without this
// reduction, it would grow exponentially with their number.
func (all *claims) claimDeletions(r *register, b bounds) {
	var acknowledged, lost, refused []*model.Operation
	for _, op := range r.deletions {
		switch {
		case op.Lost():
			lost = append(lost, op)
		case op.Err != model.OK:
			refused = append(refused, op)
			r.observe(op)
		default:
			acknowledged = append(acknowledged, op)
		}
	}
	left := r.unclaimedDeletions(b)
	for _, op := range acknowledged {
		r.add(&call{op: op, begin: op.Call, end: op.Return, effect: deletes})
	}
	needed := len(left) - len(acknowledged)
	if needed <= 0 {
		return // all deletes of unknown outcome had no effect
	}
	lost, conditional := r.possibleDeletes(lost, left, needed)
	if len(acknowledged) == 0 && !conditional && len(lost) == needed {
		for i, op := range lost {
			r.makes(op, left[i], math.MaxInt64)
		}
		return
	}
	for _, op := range lost {
		r.add(&call{op: op, begin: op.Call, end: math.MaxInt64, effect: mayDelete})
	}
	if needed > len(lost) {
		all.reportDeletions(r.versions[left[len(left)-1]].RV, append(lost, acknowledged...), refused)
		for range needed - len(lost) {
			r.add(&call{begin: math.MinInt64, end: math.MaxInt64, effect: mayDelete})
		}
	}
}

// possibleDeletes returns the deletes of unknown outcome that may have made one of
// the deletions left, in order of their calls: as many unconditional ones as are
// needed, and for each deletion the first whose preconditions the deleted version
// meets. It reports whether there are any of the latter.
func (r *register) possibleDeletes(lost []*model.Operation, left []int, needed int) (possible []*model.Operation, conditional bool) {
	slices.SortStableFunc(lost, func(a, b *model.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var deleted []*model.Object // the deleted versions that no delete with preconditions explains yet
	for _, version := range left {
		if object := r.current(version); object != nil {
			deleted = append(deleted, object)
		}
	}
	for _, op := range lost {
		if op.Precondition == 0 && requiredUID(op) == "" {
			if needed > 0 {
				needed--
				possible = append(possible, op)
			}
			continue
		}
		if at := slices.IndexFunc(deleted, func(object *model.Object) bool { return meets(op, object) }); at >= 0 {
			deleted = slices.Delete(deleted, at, at+1)
			conditional = true
			possible = append(possible, op)
		}
	}
	return possible, conditional
}

// requiredUID returns the UID that an update or delete requires, "" for none.
func requiredUID(op *model.Operation) string {
	if op.Object == nil || op.Kind == model.Create {
		return ""
	}
	return op.Object.UID
}

// meets reports whether an object meets the preconditions of an update or delete. An
// object with an unknown UID meets any UID.
func meets(op *model.Operation, object *model.Object) bool {
	uid := requiredUID(op)
	return (op.Precondition == 0 || op.Precondition == object.RV) && (uid == "" || object.UID == "" || uid == object.UID)
}

// claimDeletionByRV finds the version that an acknowledged deletion names.
func (all *claims) claimDeletionByRV(r *register, op *model.Operation) {
	version, found := slices.BinarySearchFunc(r.versions, op.ResultRV, func(v model.Version, rv int64) int { return cmp.Compare(v.RV, rv) })
	if found && r.versions[version].Object == nil && !r.claimed[version] {
		r.makes(op, version, op.Return)
		all.writes = append(all.writes, write{op: op, rv: op.ResultRV})
		return
	}
	all.violate(Linearizable, noSuchDeletion, about(op, op.ResultRV))
}

// unclaimedDeletions returns the versions that some delete may have made, and marks
// the other deletions as given.
func (r *register) unclaimedDeletions(b bounds) []int {
	var left []int
	for version := range r.versions {
		if r.claimed[version] || r.versions[version].Object != nil {
			continue
		}
		rv := r.versions[version].RV
		if slices.ContainsFunc(r.deletions, func(op *model.Operation) bool { return b.mayHaveMade(op, rv) }) {
			left = append(left, version)
		} else {
			r.given(version)
		}
	}
	return left
}

// reportDeletions reports that there are more deletions than deletes that can have
// made them.
func (all *claims) reportDeletions(last int64, possible, refused []*model.Operation) {
	switch {
	case len(possible) > 0:
		all.violate(Linearizable, surplusDeletion, about(possible[0], last))
	case len(refused) > 0:
		all.violate(guaranteeOfFailure(refused[0]), unexplainedDeletion, about(refused[0], last))
	}
}
