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
	for op := range model.Each(e.history.Operations) {
		s.call(op, " on "+op.Server, "")
	}
	for of := range model.Each(e.history.Streams) {
		s.life(of, len(of.Events), " on "+of.Server)
	}
	for fault := range model.Each(e.history.Faults) {
		s.add(momentOf(fault))
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

// Steps are moments as a numbered list, indented by so many spaces.
func Steps(indent int, moments []Moment) string {
	var b strings.Builder
	for i, m := range moments {
		text := told(m)
		switch {
		case m.Mark == Owed && m.Lane == Etcd:
			text += "  <-- expected"
		case m.Mark != "":
			text += "  <-- broken here"
		}
		b.WriteString(hanging(fmt.Sprintf("%*s%3d. %9s  ", indent, "", i+1, model.At(m.Time)), text))
	}
	return b.String()
}

// told is what happened in a moment, and to whom.
func told(m Moment) string {
	switch {
	case m.Lane != Fault:
		return who(m) + " " + m.Text
	case m.End > m.Time:
		return m.Text + ", to " + model.At(m.End)
	}
	return m.Text
}

// who is the process of a moment, and which of its streams.
func who(m Moment) string {
	if m.Stream != 0 {
		return fmt.Sprintf("%s (stream %d)", m.Process, m.Stream)
	}
	return m.Process
}
