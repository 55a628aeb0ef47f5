package linearizability

import "github.com/watchsim/watchsim/model"

// ofWritesAlone reports whether a status answers writes alone: the object is there
// already, or has changed. A read or a watch has nothing that could be in conflict.
//
// NotFound is not judged where a collection is asked for, although no collection is
// missing: a server that does not serve the resource yet answers so.
func ofWritesAlone(code model.Code) bool {
	return code == model.Conflict || code == model.AlreadyExists
}

// judgeStatuses judges ReadStatus.
func judgeStatuses(f *facts, out *findings) {
	for i := range f.history.Operations {
		if op := &f.history.Operations[i]; !op.IsWrite() && ofWritesAlone(op.Err) {
			out.violate(ReadStatus, statusOfWrites, about(op))
		}
	}
	for i := range f.history.Streams {
		s := &f.history.Streams[i]
		if ofWritesAlone(s.Err) {
			out.violate(ReadStatus, statusOfWrites, onStream(s))
		}
		for j := range s.Events {
			if event := &s.Events[j]; ofWritesAlone(event.Err) {
				witness := onStream(s)
				witness.Events = []*model.Event{event}
				out.violate(ReadStatus, statusOfWrites, witness)
			}
		}
	}
}
