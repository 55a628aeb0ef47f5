package linearizability

import (
	"fmt"
	"math"

	"github.com/watchsim/watchsim/model"
)

// claims says which change in etcd each write made.
type claims struct {
	writes    []write
	registers []*register
}

// register is one object's history: its versions in the truth, and the calls
// that wrote or read it.
type register struct {
	versions []model.Version
	// claimed tells which versions are known to be the work of one call.
	claimed []bool
	calls   []*call
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
}

// effect is what a call does to its register.
type effect int

const (
	observes     effect = iota // changes nothing: a read or a refused write
	makesVersion               // makes one known version
	deletes                    // makes one of the deletions that no other call has claimed
	mayDelete                  // as deletes, or nothing
)

// claimWrites finds the change that each write made. Contents are unique, so a
// create or update is found by its value, whether or not its outcome is known.
// Deletions have no content: those of unknown outcome or RV are left to the
// search, which may choose among the deletions nobody else has claimed.
//
// Changes that no recorded operation made, such as objects that were there
// before the clients came, are taken as given.
func (c *checker) claimWrites() claims {
	var all claims
	byKey := map[model.Key]*register{}
	for i := range c.history.Operations {
		op := &c.history.Operations[i]
		if !isWrite(op) && !(op.Kind == model.Get && op.RV == model.RVUnset) {
			continue
		}
		r := byKey[keyOf(op)]
		if r == nil {
			versions := c.store.Versions(keyOf(op))
			r = &register{versions: versions, claimed: make([]bool, len(versions))}
			byKey[keyOf(op)] = r
			all.registers = append(all.registers, r)
		}
		switch op.Kind {
		case model.Get:
			r.observe(op)
		case model.Delete:
			c.claimDelete(r, op, &all)
		default:
			c.claimWrite(r, op, &all)
		}
	}
	for _, r := range all.registers {
		c.claimRest(r)
	}
	return all
}

// claimWrite finds the version a create or update made.
func (c *checker) claimWrite(r *register, op *model.Operation, all *claims) {
	version := r.find(op.Object.Value, 0)
	if version >= 0 {
		if again := r.find(op.Object.Value, version+1); again >= 0 {
			c.violate(Linearizable, witnessOf(op, r.versions[version].RV, r.versions[again].RV),
				fmt.Sprintf("%s took effect twice, at RV %d and at RV %d", describeOperation(op),
					r.versions[version].RV, r.versions[again].RV))
		}
		r.claimed[version] = true
	}
	switch {
	case unknown(op):
		if version >= 0 {
			r.add(&call{op: op, begin: op.Call, end: math.MaxInt64, effect: makesVersion, version: version})
			all.writes = append(all.writes, write{op: op, rv: r.versions[version].RV})
		}
	case op.Err != model.OK:
		if version >= 0 {
			c.violate(guaranteeOfFailure(op), witnessOf(op, r.versions[version].RV),
				fmt.Sprintf("%s returned %s, yet took effect at RV %d", describeOperation(op), op.Err, r.versions[version].RV))
			r.claimed[version] = false
		}
		r.observe(op)
	case version < 0:
		c.violate(Linearizable, witnessOf(op, op.ResultRV),
			fmt.Sprintf("%s was acknowledged with %s, but etcd never committed it", describeOperation(op), describeOutcome(op)))
	default:
		rv := r.versions[version].RV
		if op.ResultRV != 0 && op.ResultRV != rv {
			c.violate(Linearizable, witnessOf(op, rv),
				fmt.Sprintf("%s was acknowledged with RV %d, but etcd committed it at RV %d", describeOperation(op), op.ResultRV, rv))
		}
		r.add(&call{op: op, begin: op.Call, end: op.Return, effect: makesVersion, version: version})
		all.writes = append(all.writes, write{op: op, rv: rv, acknowledged: true})
	}
}

// claimDelete finds the version a delete made, where its RV tells.
func (c *checker) claimDelete(r *register, op *model.Operation, all *claims) {
	switch {
	case unknown(op):
		r.add(&call{op: op, begin: op.Call, end: math.MaxInt64, effect: mayDelete})
	case op.Err != model.OK:
		r.observe(op)
	case op.ResultRV == 0:
		r.add(&call{op: op, begin: op.Call, end: op.Return, effect: deletes})
	default:
		for version := range r.versions {
			if r.versions[version].RV == op.ResultRV && r.versions[version].Object == nil && !r.claimed[version] {
				r.claimed[version] = true
				r.add(&call{op: op, begin: op.Call, end: op.Return, effect: makesVersion, version: version})
				all.writes = append(all.writes, write{op: op, rv: op.ResultRV, acknowledged: true})
				return
			}
		}
		c.violate(Linearizable, witnessOf(op, op.ResultRV),
			fmt.Sprintf("%s was acknowledged with RV %d, but etcd committed no such deletion, or another delete has claimed it",
				describeOperation(op), op.ResultRV))
	}
}

// claimRest accounts for the versions that no operation claims.
func (c *checker) claimRest(r *register) {
	deletions, candidates := 0, 0
	var refused *model.Operation
	for _, call := range r.calls {
		switch {
		case call.effect == deletes || call.effect == mayDelete:
			candidates++
		case call.effect == observes && call.op.Kind == model.Delete:
			refused = call.op
		}
	}
	last := int64(0)
	for version := range r.versions {
		switch {
		case r.claimed[version]:
		case r.versions[version].Object == nil:
			deletions++
			last = r.versions[version].RV
		default:
			r.claimed[version] = true
			r.add(&call{begin: math.MinInt64, end: math.MaxInt64, effect: makesVersion, version: version})
		}
	}
	if deletions <= candidates {
		return
	}
	for range deletions - candidates {
		r.add(&call{begin: math.MinInt64, end: math.MaxInt64, effect: mayDelete})
	}
	switch {
	case candidates > 0:
		op := r.calls[0].op
		for _, call := range r.calls {
			if call.effect == mayDelete && call.op != nil {
				op = call.op
			}
		}
		c.violate(Linearizable, witnessOf(op, last),
			fmt.Sprintf("%s and %d others can have deleted the object at most %d times, but etcd committed %d such deletions, the last at RV %d",
				describeOperation(op), candidates-1, candidates, deletions, last))
	case refused != nil:
		c.violate(guaranteeOfFailure(refused), witnessOf(refused, last),
			fmt.Sprintf("%s returned %s, but no other operation can have made the deletion at RV %d",
				describeOperation(refused), refused.Err, last))
	}
}

// find returns the first version from the given one on with this content, -1 if
// there is none.
func (r *register) find(value string, from int) int {
	for version := from; version < len(r.versions); version++ {
		if object := r.versions[version].Object; object != nil && object.Value == value {
			return version
		}
	}
	return -1
}

func (r *register) add(c *call) {
	c.register = r
	r.calls = append(r.calls, c)
}

// observe adds a read or a refused write whose response says something about the
// object's state.
func (r *register) observe(op *model.Operation) {
	if unknown(op) {
		return
	}
	switch op.Err {
	case model.OK, model.NotFound, model.AlreadyExists, model.Conflict:
		r.add(&call{op: op, begin: op.Call, end: op.Return, effect: observes})
	}
}

// guaranteeOfFailure returns what a write broke that failed and yet took effect.
func guaranteeOfFailure(op *model.Operation) *Guarantee {
	switch op.Err {
	case model.NotFound, model.AlreadyExists, model.Conflict:
		return Preconditions
	}
	return Linearizable
}

func witnessOf(op *model.Operation, rvs ...int64) Witness {
	return Witness{Client: op.Client, Operations: []*model.Operation{op}, RVs: rvs}
}
