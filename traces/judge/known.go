package judge

import (
	"fmt"
	"sort"

	"github.com/watchsim/watchsim/model"
)

// knownOf returns when a revision was first returned to anybody, so that etcd had committed
// everything up to it.
func knownOf(h *model.History) model.Staircase {
	var all []model.Moment
	add := func(m model.Moment) {
		if m.RV > 0 && m.RV <= h.Truth.Revision {
			all = append(all, m)
		}
	}
	for op := range model.Each(h.Operations) {
		if op.Err == model.OK && op.Return != model.Pending {
			rv := op.ResultRV
			if op.Kind == model.Get && len(op.Objects) > 0 {
				rv = op.Objects[0].RV
			}
			add(model.Moment{Time: op.Return, RV: rv, Operation: op})
		}
	}
	for s := range model.Each(h.Streams) {
		for e := range model.Each(s.Events) {
			if e.Type != model.Error {
				add(model.Moment{Time: e.Time, RV: e.RV, Stream: s, Event: e})
			}
		}
	}
	return model.NewStaircase(all)
}

// firstShown returns when a revision, or a newer one, was first returned.
func firstShown(known model.Staircase, rv int64) model.Moment {
	return known[sort.Search(len(known), func(i int) bool { return known[i].RV >= rv })]
}

// shownBy says how a revision was returned.
func shownBy(m model.Moment) string {
	if m.Event != nil {
		object := ""
		if m.Event.Object != nil {
			object = " " + m.Event.Object.Key().String()
		}
		return fmt.Sprintf("%s%s at RV %d on stream %d of %s", m.Event.Type, object, m.RV, m.Stream.ID, m.Stream.Server)
	}
	return fmt.Sprintf("the response of %s to operation %d (%s), at RV %d", m.Operation.Server, m.Operation.ID, m.Operation.Kind, m.RV)
}
