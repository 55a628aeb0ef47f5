package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// The consumers. Slow and stalled ones may lag behind at the end of a run.
const (
	fastConsumer    = "fast" // must not lag behind
	slowConsumer    = "slow"
	stalledConsumer = "stalled"
)

// readsInTime reports whether the stream's consumer keeps up after the run has
// healed.
func readsInTime(s *model.Stream) bool {
	return s.Consumer != slowConsumer && s.Consumer != stalledConsumer
}

// quietSince returns when the last fault had healed and the last write had
// ended. A write that never returned counts from its call.
func quietSince(history *model.History) int64 {
	quiet := history.Healed
	for op := range model.Each(history.Operations) {
		if op.IsWrite() {
			quiet = max(quiet, op.Call, op.Return)
		}
	}
	return quiet
}

// quietLongEnough reports whether a stream or run with these times had the delivery
// bound to receive the last change.
func (f *facts) quietLongEnough(began, ended int64) bool {
	return ended-max(f.quiet, began) >= f.config.DeliveryBound.Nanoseconds()
}

// judged reports whether the stream must have delivered everything by its end: the end
// of the run, or when its client cancelled it, if its consumer kept up.
func (w *walk) judged() bool {
	s := w.stream
	canceled := s.Closed != model.Pending && s.Reason == model.ClosedByClient && failureOf(s) < 0
	return s.Err == model.OK && s.Return != model.Pending && (s.Closed == model.Pending || canceled) &&
		readsInTime(s) && w.facts.quietLongEnough(s.Return, w.facts.endOf(s)) && !w.flows()
}

// flows reports whether events were still arriving when the stream ended: large ones take
// time on the wire, and a large initial state of them more than the delivery bound.
func (w *walk) flows() bool {
	for _, event := range slices.Backward(w.stream.Events) {
		if event.IsData() {
			return w.facts.endOf(w.stream)-event.Time < answerBound.Nanoseconds()
		}
	}
	return false
}

// endOf returns when a stream ended: at the end of the run if it was still open.
func (f *facts) endOf(s *model.Stream) int64 {
	if s.Closed != model.Pending {
		return s.Closed
	}
	return f.history.End
}

// judgeDelivered judges Delivered for a stream that lasted long enough. A change
// that is missing before a later event is a gap, and is judged for Reliable.
func (w *walk) judgeDelivered() {
	if !w.judged() {
		return
	}
	w.findings.judged.Delivered++
	if w.partial {
		w.violate(Delivered, blockUnfinished, onStream(w.stream).at(w.facts.endOf(w.stream)))
		return
	}
	var missing []*model.Transition
	for k := w.proved; k < len(w.owed); k++ {
		if !w.has(k) {
			missing = append(missing, &w.owed[k])
		}
	}
	if len(missing) > 0 {
		w.violate(Delivered, undelivered, onStream(w.stream, missing[0].RV).owing(missing[0]).got(int64(len(missing))).at(w.facts.endOf(w.stream)))
	}
}

// judgeInformers judges Converged.
func judgeInformers(f *facts, out *findings) {
	if !f.quietLongEnough(0, f.history.End) {
		return
	}
	for informer := range model.Each(f.history.Informers) {
		if slices.ContainsFunc(f.walks, func(w *walk) bool { return w.stream.Client == informer.Client && w.partial && w.flows() }) {
			continue
		}
		out.judged.Informers++
		want := f.store.List(informer.Scope, model.Selector{}, f.store.LastRV())
		differences := compareStates(want, slices.Collect(model.Each(informer.Objects)))
		if len(differences) == 0 {
			f.judgeLastSync(informer, out)
			continue
		}
		out.violate(Converged, informerDiffers, Witness{Client: informer.Client, Informer: informer, RVs: rvs(differences),
			Got: informer.LastSyncRV, Differences: differences, Time: f.history.End})
	}
}

// judgeLastSync judges the lastSyncResourceVersion of an informer whose store is right.
// A reflector sets it to the RV of each list and event once the store has it, so it is at
// least the RV of the last change in the informer's scope. 0 is unknown.
func (f *facts) judgeLastSync(informer *model.Informer, out *findings) {
	last := int64(0)
	for change := range model.Each(f.history.Truth.Changes) {
		if informer.Scope.Contains(change.Object.Key()) {
			last = change.RV
		}
	}
	witness := Witness{Client: informer.Client, Informer: informer, Got: informer.LastSyncRV, Time: f.history.End}
	switch rv := informer.LastSyncRV; {
	case rv == 0:
	case rv < last:
		out.violate(Converged, informerBehind, witness.want(last))
	case rv > f.history.Truth.Revision:
		out.violate(Converged, informerAhead, witness.want(f.history.Truth.Revision))
	}
}
