package linearizability

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// consumers that may lawfully lag behind at the end of a run.
const (
	fastConsumer    = "fast" // one that may not
	slowConsumer    = "slow"
	stalledConsumer = "stalled"
)

// quietSince returns when the last fault had healed and the last write had
// ended. A write that never returned counts from its call.
func (c *checker) quietSince() int64 {
	quiet := c.history.Healed
	for i := range c.history.Operations {
		if op := &c.history.Operations[i]; isWrite(op) {
			quiet = max(quiet, op.Call, op.Return)
		}
	}
	return quiet
}

// quietLongEnough reports whether what began at the given time has had the
// delivery bound to see the last change.
func (c *checker) quietLongEnough(began int64) bool {
	return c.history.End-max(c.quiet, began) >= c.config.DeliveryBound.Nanoseconds()
}

// judged reports whether the stream must have everything by the end of the run:
// it was open and somebody read from it.
func (w *walk) judged() bool {
	s := w.stream
	return s.Err == model.OK && s.Return != model.Pending && s.Closed == model.Pending &&
		s.Consumer != slowConsumer && s.Consumer != stalledConsumer && w.check.quietLongEnough(s.Return)
}

// checkDelivered judges Delivered for a stream that was open at the end. What a
// later event has already shown to be missing is a gap, not a delay.
func (w *walk) checkDelivered() {
	if !w.judged() {
		return
	}
	w.check.counts.Delivered++
	if w.partial {
		w.violateBlock(Delivered, fmt.Sprintf("the initial block was still incomplete when the run ended at %s", at(w.check.history.End)))
		return
	}
	first, count := -1, 0
	for k := w.proved; k < len(w.owed); k++ {
		if !w.has(k) {
			if count++; first < 0 {
				first = k
			}
		}
	}
	if count > 0 {
		w.violateBlock(Delivered, fmt.Sprintf("%d events had not arrived when the run ended at %s, the first being %s",
			count, at(w.check.history.End), describeTransition(&w.owed[first])), w.owed[first].RV)
	}
}

// checkInformers judges Converged.
func (c *checker) checkInformers() {
	if !c.quietLongEnough(0) {
		return
	}
	for i := range c.history.Informers {
		informer := &c.history.Informers[i]
		c.counts.Informers++
		want := c.store.List(informer.Scope, model.Selector{}, c.store.LastRV())
		differences := compareStates(want, pointers(informer.Objects))
		if len(differences) == 0 {
			continue
		}
		c.violate(Converged, Witness{Client: informer.Client, RVs: rvs(differences)},
			fmt.Sprintf("the informer of client %s on server %s (%s, last at RV %d) does not hold the last state when the run ended at %s: %s",
				informer.Client, informer.Server, describeQuery(informer.Scope, model.Selector{}), informer.LastSyncRV,
				at(c.history.End), describeDifferences(differences)))
	}
}
