package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// Moments are all that clients did and saw, and the faults, in order of time: the
// whole of what [Explainer.Slice] takes a part of, but for etcd's changes, which have
// no time of their own.
func (e *Explainer) Moments() []Moment {
	s := &slicer{Explainer: e, told: map[int64]bool{}}
	for i := range e.history.Operations {
		op := &e.history.Operations[i]
		s.add(Moment{Time: op.Call, Lane: Client, Process: op.Client, Text: fmt.Sprintf("calls %s on %s (operation %d)", op.Request(), op.Server, op.ID)})
		if op.Return != model.Pending {
			s.add(Moment{Time: op.Return, Lane: Client, Process: op.Client, Text: s.answer(op)})
		}
	}
	for i := range e.history.Streams {
		of := &e.history.Streams[i]
		s.client(of, of.Call, s.opening(of)+" on "+of.Server, "")
		if of.Err != model.OK {
			s.client(of, of.Return, "is refused: "+quoted(of.Err, of.Message), "")
			continue
		}
		for j := range of.Events {
			s.client(of, of.Events[j].Time, "receives "+of.Events[j].Describe(), "")
		}
		if of.Closed != model.Pending {
			s.client(of, of.Closed, "ends: "+of.EndReason(), "")
		}
	}
	for i := range e.history.Faults {
		fault := &e.history.Faults[i]
		s.add(Moment{Time: fault.Begin, End: fault.End, Lane: Fault, Text: strings.TrimSpace(fault.Name + " " + fault.Note)})
	}
	slices.SortStableFunc(s.moments, func(a, b Moment) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Stream, b.Stream))
	})
	return s.moments
}

// Seen is when anybody first showed to know of the change at rv, false if nobody
// did: the call of the write, or the first event that brought it.
func (e *Explainer) Seen(rv int64) (time int64, ok bool) {
	if e.store == nil {
		return 0, false
	}
	if op := e.maker(rv); op != nil && op.Return != model.Pending && op.Err == model.OK {
		return op.Return, true
	}
	time = e.knownAt(rv)
	return time, time <= e.history.End
}
