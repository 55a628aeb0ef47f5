package linearizability

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// checkGets judges the gets that name a resourceVersion: the object returned
// must have been the stored one at some revision that is fresh enough. Gets
// without one are judged with the writes, for Linearizable.
func (c *checker) checkGets() {
	for i := range c.history.Operations {
		op := &c.history.Operations[i]
		if op.Kind != model.Get || op.RV == model.RVUnset || unknown(op) {
			continue
		}
		switch op.Err {
		case model.OK:
			c.checkGot(op)
		case model.NotFound:
			c.checkAbsent(op)
		}
	}
}

// checkGot judges a get that returned an object.
func (c *checker) checkGot(op *model.Operation) {
	guarantee, rv := guaranteeOfGet(op), op.ResultRV
	if len(op.Objects) > 0 {
		rv = op.Objects[0].RV
	}
	version, known := c.store.VersionAt(keyOf(op), rv)
	switch {
	case !known || version.RV != rv || version.Object == nil:
		c.violate(guarantee, witnessOf(op, rv),
			fmt.Sprintf("%s returned RV %d, at which etcd stored no such object", describeOperation(op), rv))
	case len(op.Objects) > 0 && !op.Objects[0].Equal(version.Object):
		c.violate(guarantee, witnessOf(op, rv),
			fmt.Sprintf("%s returned an object that was never stored: %s", describeOperation(op), describeDifference(version.Object, &op.Objects[0])))
	case version.Until <= op.RV:
		c.violate(guarantee, witnessOf(op, rv, version.Until),
			fmt.Sprintf("%s returned RV %d, which was superseded at RV %d already", describeOperation(op), rv, version.Until))
	}
}

// checkAbsent judges a get that found nothing: between the RV asked for and the
// last revision etcd can have reached by then, the object must have been absent.
func (c *checker) checkAbsent(op *model.Operation) {
	if version := c.storedFrom(keyOf(op), op.RV, c.bounds.atMost(op.Return)); version != nil {
		c.violate(guaranteeOfGet(op), witnessOf(op, version.RV),
			fmt.Sprintf("%s found nothing, but the object written at RV %d was stored from RV %d on", describeOperation(op), version.RV, op.RV))
	}
}

// storedFrom returns the version of an object at a revision if the object was
// stored all the time from there to a later one, nil if it was not.
func (c *checker) storedFrom(key model.Key, from, to int64) *model.Version {
	version, known := c.store.VersionAt(key, from)
	if !known || version.Object == nil {
		return nil
	}
	for until := version.Until; until <= to; {
		later, _ := c.store.VersionAt(key, until)
		if later.Object == nil {
			return nil
		}
		until = later.Until
	}
	return &version
}

func guaranteeOfGet(op *model.Operation) *Guarantee {
	if op.RV == 0 {
		return Any
	}
	return NotOlderThan
}
