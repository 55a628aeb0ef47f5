package model

import (
	"cmp"
	"slices"
	"sort"
)

// Moment says that something had reached an RV by a time, or not before it, and the evidence:
// an operation, or a stream and the event with the RV; no event for a stream that was
// refused, and nothing for a sample of etcd or of a cache.
type Moment struct {
	Time, RV  int64
	Operation *Operation
	Stream    *Stream
	Event     *Event
}

// Staircase has moments in order of time and of RV.
type Staircase []Moment

// NewStaircase sorts moments and drops those with no higher RV than an earlier one.
func NewStaircase(moments []Moment) Staircase {
	slices.SortStableFunc(moments, func(a, b Moment) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(b.RV, a.RV))
	})
	kept := moments[:0]
	for _, m := range moments {
		if len(kept) == 0 || m.RV > kept[len(kept)-1].RV {
			kept = append(kept, m)
		}
	}
	return kept
}

// From returns the index of the first moment at or after a time.
func (s Staircase) From(time int64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].Time >= time })
}

// Before returns the highest moment strictly before a time, false if there is none.
func (s Staircase) Before(time int64) (Moment, bool) {
	if i := s.From(time); i > 0 {
		return s[i-1], true
	}
	return Moment{}, false
}

// Reached returns the first moment at or above an RV, false if there is none.
func (s Staircase) Reached(rv int64) (Moment, bool) {
	if i := sort.Search(len(s), func(i int) bool { return s[i].RV >= rv }); i < len(s) {
		return s[i], true
	}
	return Moment{}, false
}

// Shown returns when a revision was first returned to anybody, so that etcd had committed
// everything up to it. Revisions above the last one of the truth do not count.
func Shown(h *History) Staircase {
	var all []Moment
	add := func(m Moment) {
		if m.RV > 0 && m.RV <= h.Truth.Revision {
			all = append(all, m)
		}
	}
	for op := range Each(h.Operations) {
		if op.Err == OK && op.Return != Pending {
			rv := op.ResultRV
			if op.Kind == Get && len(op.Objects) > 0 {
				rv = op.Objects[0].RV
			}
			add(Moment{Time: op.Return, RV: rv, Operation: op})
		}
	}
	for s := range Each(h.Streams) {
		for e := range Each(s.Events) {
			if e.Type != Error {
				add(Moment{Time: e.Time, RV: e.RV, Stream: s, Event: e})
			}
		}
	}
	return NewStaircase(all)
}
