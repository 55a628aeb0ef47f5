package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// unreadable are the names of the faults that keep a server from reading what is stored:
// they alone explain that it answers with an internal error.
var unreadable = []string{"list-failure", "decode-failure", "transform-failure", "watch-error"}

// judgeFailures judges the answers that are errors, and ERROR events: InternalError, whether
// a fault explains each internal error, ReadStatus, and ErrorRV.
//
// A server that cannot reach etcd, or gives up waiting, says so by other answers: see
// Answered. What is left is a failure within the server, and neither a slow network nor a
// dead member brings that about. A fault counts if it was in force at its server at any
// time between the call and the answer.
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
			err = model.OK // it may have any status
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

// ofWritesAlone reports whether a status answers writes alone: the object is there
// already, or has changed. A read or a watch has nothing that could be in conflict.
//
// NotFound is not judged where a collection is asked for, although no collection is
// missing: a server that does not serve the resource yet answers so.
func ofWritesAlone(code model.Code) bool {
	return code == model.Conflict || code == model.AlreadyExists
}

// explainsInternal reports whether a fault kept the server from reading what is stored
// at some time from call to answer.
func (f *facts) explainsInternal(server string, call, answered int64) bool {
	return slices.ContainsFunc(f.history.Faults, func(fault model.Fault) bool {
		return slices.Contains(unreadable, fault.Name) && fault.Begin <= answered && fault.End >= call &&
			(len(fault.Processes) == 0 || slices.Contains(fault.Processes, server))
	})
}

// judgeErrorRVs judges ErrorRV by the gets for which somebody looked at the storage's
// error.
//
// etcd3's store names no RV for an object that is not there. It answers what asks for no
// RV, and what reaches a cache that is being filled.
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
