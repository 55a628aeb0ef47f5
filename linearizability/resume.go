package linearizability

import (
	"cmp"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// judgeResumptions judges Resumable: the streams of a client that follows the
// list-watch protocol, joined.
//
// Each stream by itself has everything from its start up to the last RV that came
// on it; that is Reliable and Bookmarked. Joined they have everything, once, if
// and only if each begins exactly where the one before it ended. So this rule
// judges the joints: the RV, scope and selector of a stream that says what it
// continues from. It is the client that chooses them; that they fit shows that
// the client keeps to the protocol, and that the recording of it is whole. A new
// list after 410 may not go back either, which is Monotonic and Not-older-than.
func judgeResumptions(f *facts, out *findings) {
	j := joints{facts: f, findings: out, streams: map[int]*walk{}, lists: map[int]*model.Operation{},
		followers: map[origin]*walk{}, told: map[origin]*model.Stream{}, informers: map[string]bool{}}
	for _, w := range f.walks {
		j.streams[w.stream.ID] = w
	}
	for op := range model.Each(f.history.Operations) {
		if op.Kind == model.List {
			j.lists[op.ID] = op
		}
	}
	for _, informer := range f.history.Informers {
		j.informers[informer.Client] = true
	}
	ordered := slices.Clone(f.walks)
	slices.SortStableFunc(ordered, func(a, b *walk) int { return cmp.Compare(a.stream.Call, b.stream.Call) })
	for _, w := range ordered {
		j.judge(w)
	}
}

// joints finds what streams continue from, in order of their calls.
type joints struct {
	*facts
	*findings
	streams map[int]*walk
	lists   map[int]*model.Operation
	// followers are, by what they continue from, the latest streams that brought
	// something; told are those that were told 410.
	followers map[origin]*walk
	told      map[origin]*model.Stream
	// informers are the clients that are known to follow the protocol.
	informers map[string]bool
}

// origin is the ID of the stream or list that a stream continues from.
type origin struct{ stream, list int }

// joint is what a stream continues from, as far as the rule needs it.
type joint struct {
	origin   origin
	client   string
	scope    model.Scope
	selector model.Selector
	// rv is the last RV seen there; vague says that no particular one can be
	// named.
	rv    int64
	vague bool
}

func (j *joints) judge(w *walk) {
	s := w.stream
	from, ok := joint{}, false
	switch {
	case s.ResumesStream != 0:
		from, ok = j.afterStream(w)
	case s.ResumesList != 0:
		from, ok = j.afterList(w)
	case j.informers[s.Client] && !hasBlock(s):
		j.violate(Resumable, resumedNowhere, onStream(s, s.RV))
	}
	if !ok {
		return
	}
	witness := onStream(s, s.RV, from.rv).want(from.rv)
	if follower := j.followers[from.origin]; follower != nil && lastSeen(follower.stream, s.Call) > 0 {
		j.violate(Resumable, resumedTwice, witness.proof(follower.stream, nil).got(lastSeen(follower.stream, s.Call)))
	}
	if told := j.told[from.origin]; told != nil && answeredLast(told) <= s.Call {
		j.violate(Resumable, resumedAfterGone, witness.proof(told, nil))
	}
	if from.client != s.Client || from.scope != s.Scope || queryKey(s.Scope, from.selector) != queryKey(s.Scope, s.Selector) {
		j.violate(Resumable, resumedForeign, witness)
	} else if from.rv != s.RV && !from.vague {
		j.violate(w.resumedElsewhere(from.rv, witness))
	}
	if len(s.Events) > 0 && s.Events[0].Type != model.Error {
		j.followers[from.origin] = w
	}
	if expiredAtLast(s) {
		j.told[from.origin] = s
	}
}

// afterStream returns the joint with the stream that this one continues.
func (j *joints) afterStream(w *walk) (joint, bool) {
	s := w.stream
	before := j.streams[s.ResumesStream]
	if before == nil || before == w {
		j.undecided(HistoryIncomplete, "%s continues a stream that the history lacks", s.Describe())
		return joint{}, false
	}
	p := before.stream
	from := joint{origin: origin{stream: p.ID}, client: p.Client, scope: p.Scope, selector: p.Selector}
	if from.rv = lastSeen(p, s.Call); from.rv == 0 {
		// Nothing came, so the client is where it was.
		from.rv = p.RV
	}
	// The objects of a block come in order of their keys. Where its end is not
	// marked, the protocol does not say which RV to resume at.
	from.vague = hasBlock(p) && !hasMarkBefore(p, s.Call)
	if expiredAtLast(p) && answeredLast(p) <= s.Call {
		j.told[from.origin] = p
	}
	return from, true
}

// afterList returns the joint with the list that a stream begins from.
func (j *joints) afterList(w *walk) (joint, bool) {
	s := w.stream
	op := j.lists[s.ResumesList]
	if op == nil {
		j.undecided(HistoryIncomplete, "%s continues a list that the history lacks", s.Describe())
		return joint{}, false
	}
	from := joint{origin: origin{list: op.ID}, client: op.Client, scope: op.Scope, selector: op.Selector, rv: op.ResultRV}
	if op.Err != model.OK || op.HasMore || op.Return == model.Pending || op.Return > s.Call {
		j.violate(Resumable, resumedUnfinished, onStream(s, s.RV))
		return joint{}, false
	}
	return from, true
}

// lastSeen returns the RV of the last event that a stream had brought by a time,
// 0 if there was none.
func lastSeen(s *model.Stream, by int64) int64 {
	for _, event := range slices.Backward(s.Events) {
		if event.Type != model.Error && event.Time <= by {
			return event.RV
		}
	}
	return 0
}

func hasMarkBefore(s *model.Stream, by int64) bool {
	return slices.ContainsFunc(s.Events, func(e model.Event) bool { return e.InitialEnd && e.Time <= by })
}

// expiredAtLast reports whether the last that a stream told its client is 410.
func expiredAtLast(s *model.Stream) bool {
	return s.Err == model.Expired || endsInError(s) && s.Events[len(s.Events)-1].Err == model.Expired
}

// answeredLast returns when the last came on a stream.
func answeredLast(s *model.Stream) int64 {
	if len(s.Events) > 0 {
		return s.Events[len(s.Events)-1].Time
	}
	return s.Return
}

// resumedElsewhere says what comes of resuming elsewhere than at the last RV seen.
func (w *walk) resumedElsewhere(seen int64, witness Witness) (*Guarantee, *Code, Witness) {
	s := w.stream
	if seen < s.RV {
		lost := w.facts.store.Owed(s.Scope, s.Selector, seen, s.RV)
		if len(lost) == 0 {
			return Resumable, resumedElsewhere, witness
		}
		return Resumable, resumedWithLoss, witness.owing(&lost[0]).got(int64(len(lost)))
	}
	repeated, first := int64(0), (*model.Event)(nil)
	for event := range model.Each(s.Events) {
		if event.IsData() && event.RV <= seen {
			if repeated++; first == nil {
				first = event
			}
		}
	}
	if first == nil {
		return Resumable, resumedElsewhere, witness
	}
	return Resumable, resumedRepeating, witness.proof(nil, first).got(repeated)
}
