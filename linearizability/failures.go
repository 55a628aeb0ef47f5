package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// unreadable are the names of the faults that keep a server from reading stored data:
// only they explain an internal error.
var unreadable = []string{"list-failure", "decode-failure", "transform-failure", "watch-error"}

// judgeFailures judges error responses and ERROR events: InternalError, whether a fault
// explains each internal error, ReadStatus, and ErrorRV.
//
// A server that cannot reach etcd, or whose request to it times out, returns other errors:
// see Answered. An internal error is a failure within the server, which neither a slow
// network nor a dead member causes. A fault counts if it was active at that server at any
// time between the call and the response.
func judgeFailures(f *facts, out *findings) {
	judge := func(err model.Code, answer model.Answer, server string, call, answered int64, witness func() Witness) {
		if answer == model.InternalError && !f.explainsInternal(server, call, answered) {
			out.violate(InternalError, internalError, witness())
		}
		if ofWritesAlone(err) {
			out.violate(ReadStatus, statusOfWrites, witness())
		}
	}
	for op := range model.Each(f.history.Operations) {
		err := op.Err
		if op.IsWrite() {
			err = model.OK // a write may return any status
		}
		judge(err, op.Answer, op.Server, op.Call, op.Return, func() Witness { return about(op) })
	}
	for s := range model.Each(f.history.Streams) {
		judge(s.Err, s.Answer, s.Server, s.Call, s.Return, func() Witness { return onStream(s) })
		for event := range model.Each(s.Events) {
			judge(event.Err, event.Answer, s.Server, s.Call, event.Time, func() Witness { return onStream(s).showing(event) })
		}
	}
	judgeErrorRVs(f, out)
}

// ofWritesAlone reports whether only writes may return a status: the object already
// exists, or has changed. A read or a watch cannot conflict with anything.
//
// NotFound for a list or watch is not judged, although every collection exists: a server
// that does not serve the resource yet returns it.
func ofWritesAlone(code model.Code) bool {
	return code == model.Conflict || code == model.AlreadyExists
}

// explainsInternal reports whether a fault kept the server from reading stored data at
// some time between call and response.
func (f *facts) explainsInternal(server string, call, answered int64) bool {
	return slices.ContainsFunc(f.history.Faults, func(fault model.Fault) bool {
		return slices.Contains(unreadable, fault.Name) && fault.Begin <= answered && fault.End >= call &&
			(len(fault.Processes) == 0 || slices.Contains(fault.Processes, server))
	})
}

// judgeErrorRVs judges ErrorRV by the gets whose history has the storage's error.
//
// The errors of etcd3's store have no RV. It serves gets without an RV, and gets while the
// cache is initialising.
func judgeErrorRVs(f *facts, out *findings) {
	for op := range model.Each(f.history.Operations) {
		if op.Kind != model.Get || op.Err != model.NotFound || op.ErrRV == 0 {
			continue
		}
		if op.ErrRV == model.RVUnset {
			if _, filled := f.heldSince(op.Server, op.Call, op.Return); filled && op.RV != model.RVUnset {
				out.violate(ErrorRV, absentNowhere, about(op))
			}
			continue
		}
		asked := op.RV
		if asked == model.RVUnset {
			asked, _ = f.bounds.minRV(op.Call)
		}
		latest := f.bounds.maxRV(op.Return)
		version, known := f.store.VersionAt(op.Key(), op.ErrRV)
		witness := about(op, version.RV).got(op.ErrRV)
		switch {
		case op.ErrRV < asked:
			out.violate(ErrorRV, absentTooOld, witness.want(asked))
		case op.ErrRV > latest:
			out.violate(ErrorRV, absentInFuture, witness.want(latest))
		case known && version.Object != nil:
			out.violate(ErrorRV, absentYetThere, witness)
		}
	}
}
