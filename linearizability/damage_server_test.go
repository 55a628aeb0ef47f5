package linearizability_test

import (
	"maps"
	"slices"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// censuses returns those taken when the run had settled, for which keep holds.
func censuses(h *model.History, keep func(*model.Census) bool) []*model.Census {
	var kept []*model.Census
	for i := range h.Censuses {
		if census := &h.Censuses[i]; census.Time >= h.Healed+linearizability.DefaultConfig().DeliveryBound.Nanoseconds() && keep(census) {
			kept = append(kept, census)
		}
	}
	return kept
}

// miscounted is a damage to a census of some kind, by what a server holds too many of.
func miscounted(name string, guarantee *linearizability.Guarantee, keep func(*model.Census) bool, change func(*model.Census)) damage {
	return damage{name, func(c chooser, h *model.History) guarantees {
		census, ok := pick(c, censuses(h, keep))
		if !ok {
			return nil
		}
		change(census)
		return guarantees{guarantee}
	}}
}

// unshared is a server with too many watches on etcd, which two counts in a row show.
func unshared(name string, change func(*model.Census)) damage {
	return damage{name, func(c chooser, h *model.History) guarantees {
		census, ok := pick(c, censuses(h, func(census *model.Census) bool {
			return census.Phase == model.Serving && census.Streams > 1
		}))
		if !ok {
			return nil
		}
		var before *model.Census
		for i := range h.Censuses {
			other := &h.Censuses[i]
			if other == census {
				break
			}
			if other.Server == census.Server && other.Phase == model.Serving {
				before = other
			}
		}
		if before == nil {
			return nil
		}
		change(before)
		change(census)
		return guarantees{linearizability.Shared}
	}}
}

// careless returns the streams whose consumers change what they received.
func careless(h *model.History) []*model.Stream {
	return streams(h, func(s *model.Stream) bool { return s.Mutates })
}

// mutatedBy returns the object as it is after the consumer of a stream had it.
func mutatedBy(s *model.Stream, object model.Object) model.Object {
	object.Labels = maps.Clone(object.Labels) // others have the same
	model.Mutate(&object, s.ID)
	return object
}

// unrefreshed returns the open streams with bookmarks that have not learned of
// etcd's last revision, and that cannot have started from it: when they were
// open, etcd was first seen at a lower one.
func unrefreshed(h *model.History) []*model.Stream {
	firstSeen := map[int64]int64{}
	for _, census := range h.Censuses {
		if _, seen := firstSeen[census.Revision]; !seen {
			firstSeen[census.Revision] = census.Time
		}
	}
	return streams(h, func(s *model.Stream) bool {
		return opened(s) && s.Bookmarks && s.Closed == model.Pending && s.RV < h.Truth.Revision &&
			!slices.ContainsFunc(s.Events, func(e model.Event) bool { return e.RV >= h.Truth.Revision }) &&
			slices.ContainsFunc(h.Censuses, func(census model.Census) bool {
				return census.Revision < h.Truth.Revision && firstSeen[census.Revision] >= s.Return
			})
	})
}

var serverDamages = []damage{
	unshared("watch etcd for each client", func(census *model.Census) { census.EtcdWatches = max(2, census.Streams) }),
	unshared("watch etcd once too often", func(census *model.Census) { census.EtcdWatches = 2 }),
	miscounted("leave a second watch on etcd", linearizability.Released,
		func(census *model.Census) bool { return census.Phase == model.Left },
		func(census *model.Census) { census.EtcdWatches = 2 }),
	{"send no bookmarks for two minutes", func(_ chooser, h *model.History) guarantees {
		if len(unrefreshed(h)) == 0 {
			return nil
		}
		h.End += 2 * time.Minute.Nanoseconds()
		return guarantees{linearizability.Refreshed}
	}},
	{"show a consumer's changes to another stream", func(c chooser, h *model.History) guarantees {
		s, ok := pick(c, careless(h))
		if !ok {
			return nil
		}
		p, ok := pick(c, events(h, func(p place) bool { return isChange(p.event()) && p.stream != s }))
		if !ok {
			return nil
		}
		object := p.own()
		*object = mutatedBy(s, *object)
		return guarantees{linearizability.Isolated}
	}},
	{"show a consumer's changes to a reader", func(c chooser, h *model.History) guarantees {
		s, ok := pick(c, careless(h))
		if !ok {
			return nil
		}
		op, ok := pick(c, operations(h, func(op *model.Operation) bool { return len(op.Objects) > 0 }))
		if !ok {
			return nil
		}
		op.Objects = slices.Clone(op.Objects)
		i := c.below(len(op.Objects))
		op.Objects[i] = mutatedBy(s, op.Objects[i])
		return guarantees{linearizability.Isolated}
	}},
	{"show a consumer's changes to an informer", func(c chooser, h *model.History) guarantees {
		s, ok := pick(c, careless(h))
		if !ok || len(h.Informers[0].Objects) == 0 {
			return nil
		}
		objects := h.Informers[0].Objects
		i := c.below(len(objects))
		objects[i] = mutatedBy(s, objects[i])
		return guarantees{linearizability.Isolated}
	}},
}
