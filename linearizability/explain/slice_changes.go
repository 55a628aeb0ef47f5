package explain

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// change adds the change at rv: when it was made, and by whom.
func (s *slicer) change(rv int64, mark Mark) {
	if s.store == nil || rv <= 0 || s.told[rv] || len(s.told) >= sliceChanges {
		return
	}
	key, changed := s.store.KeyOf(rv)
	if !changed {
		return
	}
	s.told[rv] = true
	what := "updates"
	switch version, _ := s.store.VersionAt(key, rv); {
	case version.Object == nil:
		what = "deletes"
	default:
		if before, existed := s.store.VersionAt(key, rv-1); !existed || before.Object == nil {
			what = "creates"
		}
	}
	op := s.maker(rv)
	if op == nil {
		// The time is unknown, so it is placed where it was first seen.
		if time := s.knownAt(rv); time <= s.history.End {
			s.add(Moment{Time: time, Lane: Etcd, Process: "etcd", Text: fmt.Sprintf("RV %d: an unrecorded client %s %s by then", rv, what, key), Mark: mark})
		}
		return
	}
	time, asked := op.Return, op.Return == model.Pending || op.Err == model.Unknown
	if asked {
		time = op.Call
	}
	// It was made before anybody observed it.
	time = max(op.Call, min(time, s.knownFrom(rv, time)))
	s.add(Moment{Time: time, Lane: Etcd, Process: "etcd", Text: fmt.Sprintf("RV %d: %s %s %s", rv, op.Client, what, key), Mark: mark, rv: rv, asked: asked})
}

// inOrder puts changes into the order of their revisions. One whose response was late
// moves to the response of a later one, as it had been made by then; one without a
// response moves to where an earlier one was made.
func (s *slicer) inOrder() {
	for i := range s.moments {
		for j := range s.moments {
			early, late := &s.moments[i], &s.moments[j]
			switch {
			case early.rv == 0 || late.rv <= early.rv || late.Time >= early.Time:
			case late.asked:
				late.Time, late.End = early.Time, early.Time
			default:
				early.Time, early.End = late.Time, late.Time
			}
		}
	}
}

// knownFrom returns when the change at rv first arrived on any stream, at most a time.
func (e *Explainer) knownFrom(rv, most int64) int64 {
	for s := range model.Each(e.history.Streams) {
		if arrived, _ := arrival(s, rv); arrived >= 0 {
			most = min(most, s.Events[arrived].Time)
		}
	}
	return most
}
