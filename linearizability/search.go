package linearizability

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/watchsim/watchsim/model"
)

// This file checks streams a second time, in another way: porcupine follows the
// state machine that specifies a watch, model.Step, event by event. The verdict comes
// from the walk of stream.go, which is linear and says what is wrong; the search only
// says whether the specification allows the stream. As it follows the specification
// itself, the two must agree. If they do not, the oracle has a bug, and the verdict is
// inconclusive unless it is failed anyway.

// happening is one step of a stream in porcupine's model.
type happening struct {
	store *model.Store
	watch *model.Watch
	// event is what arrived; nil for the end of the stream.
	event *model.Event
	// reached is the highest revision that etcd can have reached by then.
	reached int64
	// owed says that everything must have arrived by the end.
	owed bool
}

// streamModel is the specification of a watch as a porcupine model.
var streamModel = func() porcupine.Model {
	specification := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{model.Start()} },
		Step:  func(state, input, _ any) []any { return input.(happening).step(state.(model.StreamState)) },
		Equal: func(a, b any) bool { return a.(model.StreamState).Equal(b.(model.StreamState)) },
	}
	return specification.ToModel()
}()

// step returns the states that a stream can be in after the step.
func (h happening) step(state model.StreamState) []any {
	if h.event == nil {
		if h.owed && !model.Complete(h.store, *h.watch, state, h.reached) {
			return nil
		}
		return []any{state}
	}
	next := model.Step(h.store, *h.watch, state, h.event, h.reached)
	states := make([]any, len(next))
	for i := range next {
		states[i] = next[i]
	}
	return states
}

// happenings returns the steps of a stream for porcupine. The order of the events is
// known, as their intervals do not overlap. Only the RV of the initial events is
// searched for.
func (w *walk) happenings() []porcupine.Operation {
	bounds := w.facts.bounds
	watch := w.asked()
	events := w.events()
	operations := make([]porcupine.Operation, 0, len(events)+1)
	add := func(h happening) {
		h.store, h.watch = w.facts.store, &watch
		at := int64(2 * len(operations))
		operations = append(operations, porcupine.Operation{Input: h, Call: at, Return: at + 1})
	}
	for i := range events {
		add(happening{event: &events[i], reached: bounds.maxRV(events[i].Time)})
	}
	add(happening{reached: w.facts.history.Truth.Revision, owed: w.judged()})
	return operations
}

// searchStreams searches for paths through the specification that these streams may
// have taken.
func searchStreams(limit time.Duration, walks ...*walk) porcupine.CheckResult {
	var operations []porcupine.Operation
	partitions := make([][]porcupine.Operation, len(walks))
	for i, w := range walks {
		partitions[i] = w.happenings()
		operations = append(operations, partitions[i]...)
	}
	specification := streamModel
	specification.Partition = func([]porcupine.Operation) [][]porcupine.Operation { return partitions }
	return porcupine.CheckOperationsTimeout(specification, operations, limit)
}

// crossCheck checks the streams of a history by the search as well, unless they are
// too large. See Config.SearchEvents and Config.SearchChanges.
func crossCheck(f *facts, out *findings) {
	if len(f.history.Truth.Changes) > f.config.SearchChanges {
		return
	}
	limit := f.config.SearchTimeout
	var sound, broken []*walk
	for _, w := range f.walks {
		switch {
		case w.stream.Err != model.OK || len(w.stream.Events) > f.config.SearchEvents:
		case w.broken():
			broken = append(broken, w)
		default:
			sound = append(sound, w)
		}
	}
	// Most histories are sound, and one search is cheaper than many.
	if searchStreams(limit, sound...) == porcupine.Ok {
		out.judged.Searched += len(sound)
		sound = nil
	}
	for _, w := range append(sound, broken...) {
		result := searchStreams(limit, w)
		if result == porcupine.Unknown {
			out.searchGaveUp(limit)
			return
		}
		out.judged.Searched++
		if found := f.disagreement(w, result == porcupine.Ok); found != "" {
			out.undecided(OracleDisagrees, "the oracle disagrees with itself about %s: %s", w.stream.Describe(), found)
		}
	}
}

// disagreement says how the walk and the search differ about a stream; empty if they
// agree. They may differ about refusals only: the rules of refusals.go also use what
// other streams received to decide whether a server had to serve a watch, which the
// specification of one stream cannot.
func (f *facts) disagreement(w *walk, allowed bool) string {
	refused := f.refusals.about(Expired, w.stream) || f.refusals.about(TooLarge, w.stream) ||
		!f.cached && w.stream.Refusal() == model.Expired // which the specification treats as a cache's
	switch {
	case allowed && w.broken():
		return "a guarantee is broken, but the specification allows the events that it received"
	case !allowed && !w.broken() && !refused:
		return "no guarantee is broken, but the specification does not allow the events that it received"
	}
	return ""
}

// about reports whether a stream was found to break a guarantee.
func (o *findings) about(guarantee *Guarantee, s *model.Stream) bool {
	return o.sources[source{guarantee: guarantee, client: s.Client, stream: s.ID}].count > 0
}
