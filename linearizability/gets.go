package linearizability

import "github.com/watchsim/watchsim/model"

// The gets with a resourceVersion: the object returned must have been stored at some
// revision that is fresh enough. Gets without one are judged with the writes, for
// Linearizable.

// judgeGot judges a get that returned an object.
func (f *facts) judgeGot(op *model.Operation, out *findings) {
	guarantee, rv := guaranteeOfGet(op), objectRV(op)
	version, known := f.store.VersionAt(op.Key(), rv)
	switch {
	case !known || version.RV != rv || version.Object == nil:
		out.violate(guarantee, unknownVersion, about(op, rv))
	case len(op.Objects) > 0 && !op.Objects[0].Equal(version.Object):
		out.violate(guarantee, alteredObject, about(op, rv).differing(Difference{Altered, version.Object, &op.Objects[0]}))
	case version.Until <= op.RV:
		out.violate(guarantee, superseded, about(op, rv, version.Until))
	case rv > f.bounds.maxRV(op.Return):
		out.violate(guarantee, futureRead, about(op, rv).want(f.bounds.maxRV(op.Return)))
	}
}

// judgeAbsent judges a get that found nothing: the object must have been absent at
// some revision between the requested one and the last that etcd can have reached.
func (f *facts) judgeAbsent(op *model.Operation, out *findings) {
	if version := f.storedFrom(op.Key(), op.RV, f.bounds.maxRV(op.Return)); version != nil {
		out.violate(guaranteeOfGet(op), notFound, about(op, version.RV).want(op.RV))
	}
}

// storedFrom returns the version of an object at a revision if the object existed
// at every revision from there to a later one, nil if it did not.
func (f *facts) storedFrom(key model.Key, from, to int64) *model.Version {
	version, known := f.store.VersionAt(key, from)
	if !known || version.Object == nil {
		return nil
	}
	for until := version.Until; until <= to; {
		later, _ := f.store.VersionAt(key, until)
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
