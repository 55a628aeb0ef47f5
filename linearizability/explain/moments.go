package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// Moments returns all that clients did and saw, and the faults, in order of time.
// [Explainer.Slice] returns a part of them, and etcd's changes, which have no time of
// their own.
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

// Seen returns when the change at rv first showed, false if it did not: when the
// write was acknowledged, or the earliest evidence of it.
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

// Steps returns moments as a numbered list, indented by the given number of spaces.
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

// told describes a moment: who did what.
func told(m Moment) string {
	switch {
	case m.Lane != Fault:
		return who(m) + " " + m.Text
	case m.End > m.Time:
		return m.Text + ", to " + model.At(m.End)
	}
	return m.Text
}

// who returns the process of a moment, and its stream.
func who(m Moment) string {
	if m.Stream != 0 {
		return fmt.Sprintf("%s (stream %d)", m.Process, m.Stream)
	}
	return m.Process
}
