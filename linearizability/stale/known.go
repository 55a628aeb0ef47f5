package stale

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/watchsim/watchsim/model"
)

// step says that by a time somebody had been shown a revision, so that etcd had
// committed everything up to it.
type step struct {
	time, rv int64
	op       *model.Operation
	stream   *model.Stream
	event    *model.Event
}

// known are steps in order of time and of RV: each is news.
type known []step

func knownOf(h *model.History) known {
	var steps known
	add := func(s step) {
		if s.rv > 0 && s.rv <= h.Truth.Revision {
			steps = append(steps, s)
		}
	}
	for op := range model.Each(h.Operations) {
		if op.Err == model.OK && op.Return != model.Pending {
			rv := op.ResultRV
			if op.Kind == model.Get && len(op.Objects) > 0 {
				rv = op.Objects[0].RV
			}
			add(step{time: op.Return, rv: rv, op: op})
		}
	}
	for s := range model.Each(h.Streams) {
		for e := range model.Each(s.Events) {
			if e.Type != model.Error {
				add(step{time: e.Time, rv: e.RV, stream: s, event: e})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(b.rv, a.rv)) })
	kept := steps[:0]
	for _, s := range steps {
		if len(kept) == 0 || s.rv > kept[len(kept)-1].rv {
			kept = append(kept, s)
		}
	}
	return kept
}

// before returns the newest that had been shown before a time, false if nothing had.
func (k known) before(time int64) (step, bool) {
	i := sort.Search(len(k), func(i int) bool { return k[i].time >= time })
	if i == 0 {
		return step{}, false
	}
	return k[i-1], true
}

// first returns when a revision, or a newer one, was first shown.
func (k known) first(rv int64) (step, bool) {
	i := sort.Search(len(k), func(i int) bool { return k[i].rv >= rv })
	if i == len(k) {
		return step{}, false
	}
	return k[i], true
}

// what says how the revision was shown.
func (s step) what() string {
	if s.event != nil {
		object := ""
		if s.event.Object != nil {
			object = " " + s.event.Object.Key().String()
		}
		return fmt.Sprintf("%s%s at RV %d on stream %d of %s", s.event.Type, object, s.rv, s.stream.ID, s.stream.Server)
	}
	return fmt.Sprintf("the answer of %s to operation %d (%s), at RV %d", s.op.Server, s.op.ID, s.op.Kind, s.rv)
}
