package linearizability

import (
	"cmp"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// stallBound exceeds the longest stall of a goroutine, 4 s in the scenario reinit. A
// stall that has begun before the run heals ends by itself.
const stallBound = 5 * time.Second

// startBound is how long caches may take to be filled when a run begins.
const startBound = 3 * time.Second

// calm says when nothing was wrong: the spans of time in which something was, in order,
// none of which overlap.
//
// A fault disturbs from its beginning until the delivery bound after its end, which is
// how long connections may stay silent and clients back off. So does a change of etcd's
// leader, which need not have a fault: elections may be too short for the network. A run
// begins with caches that are being filled. Stalls of goroutines
// disturb a run that is not steady until it heals, and a little longer.
type calm []span

type span struct{ from, to int64 }

func newCalm(h *model.History, config Config) calm {
	all := calm{{0, startBound.Nanoseconds()}}
	if !h.Steady {
		all = append(all, span{0, h.Healed + stallBound.Nanoseconds()})
	}
	for i := range h.Faults {
		all = append(all, span{h.Faults[i].Begin, h.Faults[i].End + config.DeliveryBound.Nanoseconds()})
	}
	for i := range h.Leaders {
		if at := h.Leaders[i].Time; at > 0 {
			all = append(all, span{at - config.AnswerBound.Nanoseconds(), at + config.DeliveryBound.Nanoseconds()})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// during reports whether nothing was wrong at any time between two.
func (c calm) during(from, to int64) bool {
	i, _ := slices.BinarySearchFunc(c, from, func(s span, time int64) int { return cmp.Compare(s.to, time) })
	return i == len(c) || c[i].from > to
}
