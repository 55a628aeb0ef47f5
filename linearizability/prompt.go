package linearizability

import "github.com/watchsim/watchsim/model"

// judgePrompt judges Prompt: while nothing is wrong and the server has no slow or stalled
// consumer, the event of an acknowledged write reaches each fast consumer in time. An event
// that follows others, including those of the initial state, is due when the one before it
// has arrived, because large events take time on the wire.
func judgePrompt(f *facts, out *findings) {
	acknowledged := f.claims.acknowledged()
	idlers := newIdlers(f.history)
	for _, w := range f.walks {
		s := w.stream
		if s.Err != model.OK || s.Return == model.Pending || s.Consumer != fastConsumer || w.partial {
			continue
		}
		came := make(map[int64]*model.Event, len(s.Events))
		for event := range model.Each(s.Events) {
			if event.IsData() {
				came[event.RV] = event
			}
		}
		before := s.Return
		if w.block > 0 {
			before = s.Events[w.block-1].Time
		}
		for i := range w.owed {
			event, op := came[w.owed[i].RV], acknowledged[w.owed[i].RV]
			if op != nil && op.Call >= s.Return && idlers.openAt(s.Server, op.Return) == nil {
				w.judgeDelay(&w.owed[i], op, event, max(before, op.Return), out)
			}
			if event != nil {
				before = event.Time
			}
		}
	}
}

// judgeDelay judges the event of a write that is due answerBound after since; nil if it
// never arrived.
func (w *walk) judgeDelay(owed *model.Transition, op *model.Operation, event *model.Event, since int64, out *findings) {
	s, f := w.stream, w.facts
	due := since + answerBound.Nanoseconds()
	closed := f.endOf(s)
	if event != nil {
		closed = event.Time
	}
	if event == nil && closed <= due || !f.calm.during(s.Client, s.Server, op.Call, min(closed, due)) {
		return
	}
	out.judged.Prompt++
	out.took(Prompt, max(0, closed-since), due-since)
	if closed <= due {
		return
	}
	witness := onStream(s, owed.RV).owing(owed).want(due - since).since(since).at(due)
	if event != nil {
		out.violate(Prompt, deliveredLate, witness.showing(event).got(event.Time-since))
		return
	}
	out.violate(Prompt, notDelivered, witness)
}
