package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// unreadable are the names of the faults that keep a server from reading what is stored:
// they alone explain that it answers with an internal error.
var unreadable = []string{"list-failure", "decode-failure", "transform-failure", "watch-error"}

// judgeFailures judges the answers that are errors.
func judgeFailures(f *facts, out *findings) {
	judgeInternalErrors(f, out)
	judgeErrorRVs(f, out)
}

// judgeInternalErrors judges InternalError: whether a fault explains each internal error
// that a server answered with.
//
// A server that cannot reach etcd, or gives up waiting, says so by other answers: see
// Answered. What is left is a failure within the server, and neither a slow network nor a
// dead member brings that about. A fault counts if it was in force at its server at any
// time between the call and the answer.
func judgeInternalErrors(f *facts, out *findings) {
	for i := range f.history.Operations {
		op := &f.history.Operations[i]
		if op.Answer == model.InternalError && !f.explainsInternal(op.Server, op.Call, op.Return) {
			out.violate(InternalError, internalError, about(op))
		}
	}
	for i := range f.history.Streams {
		s := &f.history.Streams[i]
		if s.Answer == model.InternalError && !f.explainsInternal(s.Server, s.Call, s.Return) {
			out.violate(InternalError, internalError, onStream(s))
		}
		for j := range s.Events {
			event := &s.Events[j]
			if event.Answer == model.InternalError && !f.explainsInternal(s.Server, s.Call, event.Time) {
				witness := onStream(s)
				witness.Events = []*model.Event{event}
				out.violate(InternalError, internalError, witness)
			}
		}
	}
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
	for i := range f.history.Operations {
		op := &f.history.Operations[i]
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
			asked, _ = f.bounds.atLeast(op.Call)
		}
		latest := f.bounds.atMost(op.Return)
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
