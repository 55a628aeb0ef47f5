package linearizability

import (
	"math"
	"slices"
	"sort"

	"github.com/watchsim/watchsim/model"
)

// claims says which change in etcd each write made, and what is wrong with writes
// as far as that needs no search.
type claims struct {
	writes    []write
	registers []*register
	findings
}

// register is the history of one object: its versions in the ground truth, and the
// calls that wrote or read it.
type register struct {
	versions []model.Version
	// byValue finds the first version with a content, again the second, if there is
	// one that no touch explains.
	byValue, again map[string]int
	// claimed says which versions are known to be made by a certain call.
	claimed   []bool
	calls     []*call
	deletions []*model.Operation
}

// call is one operation as the register sees it.
type call struct {
	register *register
	// op is nil for a change that no recorded operation made.
	op         *model.Operation
	begin, end int64
	effect     effect
	// version is the version that a makesVersion call makes.
	version int
	// minMade and maxMade bound how many versions had been made when an observes call
	// took effect, given the bounds on etcd's revision.
	minMade, maxMade int
}

// effect is what a call does to its register.
type effect int

const (
	observes     effect = iota // changes nothing: a read or a refused write
	makesVersion               // makes one known version
	deletes                    // makes one of the deletions that no other call has claimed
	mayDelete                  // as deletes, or has no effect
)

// claimWrites finds the change that each write made, except for deletions whose RV the
// server did not return. Values are unique, so a create or update is found by its
// value, whether or not its outcome is known. For deletions, which have no value, see
// deletions.go.
//
// Changes that no recorded operation made, such as those before the first client
// started, are taken as given.
func claimWrites(history *model.History, store *model.Store, most int) claims {
	all := claims{findings: findings{most: most}}
	byKey, touches := map[model.Key]*register{}, touchesOf(history)
	for op := range model.Each(history.Operations) {
		if !op.IsWrite() && !(op.Kind == model.Get && op.RV == model.RVUnset) {
			continue
		}
		r := byKey[op.Key()]
		if r == nil {
			r = newRegister(store.Versions(op.Key()), touches[op.Key()])
			byKey[op.Key()] = r
			all.registers = append(all.registers, r)
		}
		switch op.Kind {
		case model.Get:
			if op.Err == model.OK && len(op.Objects) > 0 {
				all.comparePatched(op)
			}
			r.observe(op)
		case model.Delete:
			if op.Lost() || op.Err != model.OK || op.ResultRV == 0 {
				r.deletions = append(r.deletions, op)
			} else {
				all.claimDeletionByRV(r, op)
			}
		default:
			all.claimWrite(r, op)
		}
	}
	return all
}

// acknowledged returns the acknowledged writes, by the RVs of their changes.
func (all *claims) acknowledged() map[int64]*model.Operation {
	byRV := make(map[int64]*model.Operation, len(all.writes))
	for _, w := range all.writes {
		if !w.op.Lost() {
			byRV[w.rv] = w.op
		}
	}
	return byRV
}

// complete claims the rest, given the bounds on etcd's revision over time. A change has
// taken effect once etcd is known to have reached its RV or a later one, whoever made it,
// and whether or not the outcome of the write is known.
func (all *claims) complete(b bounds) {
	for _, r := range all.registers {
		all.claimDeletions(r, b)
		for version := range r.versions {
			if !r.claimed[version] && r.versions[version].Object != nil {
				r.given(version)
			}
		}
		for _, c := range r.calls {
			if c.effect == observes {
				c.minMade, c.maxMade = r.until(b.reachedBefore(c.op)), r.until(b.maxRV(c.op.Return))
			}
		}
	}
}

// until returns how many versions had been made at an RV.
func (r *register) until(rv int64) int {
	return sort.Search(len(r.versions), func(i int) bool { return r.versions[i].RV > rv })
}

// touchesOf returns the touches of each object.
func touchesOf(history *model.History) map[model.Key][]*model.Operation {
	touches := map[model.Key][]*model.Operation{}
	for op := range model.Each(history.Operations) {
		if op.Touch {
			touches[op.Key()] = append(touches[op.Key()], op)
		}
	}
	return touches
}

// rewrites reports whether one of the touches can have written a version with the same
// content as the one before. A touch does so if it sets other labels, or if the stored
// value is stale, for example after the encryption key has changed.
func rewrites(touches []*model.Operation, before, version model.Version) bool {
	return before.Object != nil && slices.ContainsFunc(touches, func(op *model.Operation) bool {
		made := *before.Object
		made.RV, made.Labels = version.RV, op.Patched(made.Labels)
		return (op.Lost() || op.Err == model.OK && op.ResultRV == version.RV) && made.Equal(version.Object)
	})
}

// comparePatched compares what a touch was requested to set with the returned object.
func (all *claims) comparePatched(op *model.Operation) {
	asked := op.Objects[0]
	if asked.Labels = op.Patched(asked.Labels); !asked.Equal(&op.Objects[0]) {
		all.violate(Linearizable, notPatched, about(op, op.ResultRV).differing(Difference{Altered, &asked, &op.Objects[0]}))
	}
}

func newRegister(versions []model.Version, touches []*model.Operation) *register {
	r := &register{versions: versions, claimed: make([]bool, len(versions)), byValue: make(map[string]int, len(versions))}
	for version := range versions {
		object := versions[version].Object
		if versions[version].Expired {
			r.given(version)
		}
		if object == nil {
			continue
		}
		if _, known := r.byValue[object.Value]; !known {
			r.byValue[object.Value] = version
		} else if _, known := r.again[object.Value]; !known && !rewrites(touches, versions[version-1], versions[version]) {
			if r.again == nil {
				r.again = map[string]int{}
			}
			r.again[object.Value] = version
		}
	}
	return r
}

// claimWrite finds the version a create or update made.
func (all *claims) claimWrite(r *register, op *model.Operation) {
	version, found := r.byValue[op.Object.Value]
	if !found {
		version = -1
	} else if again, twice := r.again[op.Object.Value]; twice {
		all.violate(Linearizable, tookEffectTwice, about(op, r.versions[version].RV, r.versions[again].RV))
	}
	switch {
	case op.Lost():
		if version >= 0 {
			all.compareStored(op, r.versions[version])
			r.makes(op, version, math.MaxInt64)
			all.writes = append(all.writes, write{op: op, rv: r.versions[version].RV})
		}
	case op.Err != model.OK:
		if version >= 0 {
			all.violate(guaranteeOfFailure(op), failedYetCommitted, about(op, r.versions[version].RV))
		}
		r.observe(op)
	case version < 0:
		all.violate(Linearizable, neverCommitted, about(op, op.ResultRV))
	default:
		rv := r.versions[version].RV
		if op.ResultRV != 0 && op.ResultRV != rv {
			all.violate(Linearizable, committedElsewhere, about(op, rv))
		}
		all.compareStored(op, r.versions[version])
		r.makes(op, version, op.Return)
		all.writes = append(all.writes, write{op: op, rv: rv})
	}
}

// compareStored compares the object that a create or update was requested to store, and
// the one it returned, with the version that it made. The server sets the RV and the UID; a
// UID in the request is a precondition.
func (all *claims) compareStored(op *model.Operation, made model.Version) {
	asked := *op.Object
	asked.RV, asked.UID = made.RV, made.Object.UID
	if !asked.Equal(made.Object) {
		all.violate(Linearizable, storedOtherwise, about(op, made.RV).differing(Difference{Altered, &asked, made.Object}))
	}
	for i := range op.Objects {
		if !op.Objects[i].Equal(made.Object) {
			all.violate(Linearizable, answeredOtherwise, about(op, made.RV).differing(Difference{Altered, made.Object, &op.Objects[i]}))
		}
	}
}

// makes adds a call that made a version.
func (r *register) makes(op *model.Operation, version int, end int64) {
	r.claimed[version] = true
	r.add(&call{op: op, begin: op.Call, end: end, effect: makesVersion, version: version})
}

// given adds a version that no recorded operation made.
func (r *register) given(version int) {
	r.claimed[version] = true
	r.add(&call{begin: math.MinInt64, end: math.MaxInt64, effect: makesVersion, version: version})
}

func (r *register) add(c *call) {
	c.register = r
	r.calls = append(r.calls, c)
}

// observe adds a read or a refused write whose response tells something about the
// object's state.
func (r *register) observe(op *model.Operation) {
	if op.Lost() {
		return
	}
	switch op.Err {
	case model.OK, model.NotFound, model.AlreadyExists, model.Conflict:
		r.add(&call{op: op, begin: op.Call, end: op.Return, effect: observes})
	}
}

// guaranteeOfFailure returns the guarantee that a write breaks if it fails but takes effect.
func guaranteeOfFailure(op *model.Operation) *Guarantee {
	switch op.Err {
	case model.NotFound, model.AlreadyExists, model.Conflict:
		return Preconditions
	}
	return Linearizable
}
