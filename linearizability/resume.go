package linearizability

import (
	"cmp"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// judgeResumptions judges Resumable: the consecutive streams of a client that follows
// the list-watch protocol.
//
// Each stream by itself delivers everything from its start up to its last RV; that is
// Reliable and Bookmarked. Together they deliver everything once if and only if each
// starts exactly where the one before it ended. So this rule judges the joints: the
// RV, scope and selector of a stream that says what it continues from. The client
// chooses them; if they fit, the client follows the protocol, and its recording is
// complete. A relist after 410 must not go back either: see Monotonic and
// Not-older-than.
func judgeResumptions(f *facts, out *findings) {
	j := joints{f, out, map[int]*model.Stream{}, map[origin]*model.Stream{}, map[origin]*model.Stream{}}
	for s := range model.Each(f.history.Streams) {
		j.streams[s.ID] = s
	}
	byCall := func(a, b *model.Stream) int { return cmp.Compare(a.Call, b.Call) }
	for _, s := range slices.SortedStableFunc(model.Each(f.history.Streams), byCall) {
		j.judge(s)
	}
}

// joints finds what each stream continues from, in order of their calls.
type joints struct {
	*facts
	*findings
	streams map[int]*model.Stream // by ID
	// followers are, by what they continue from, the latest streams that delivered
	// something; told are those that received 410.
	followers, told map[origin]*model.Stream
}

// origin is the ID of the stream or list that a stream continues from.
type origin struct{ stream, list int }

// joint describes what a stream continues from.
type joint struct {
	origin   origin
	client   string
	scope    model.Scope
	selector model.Selector
	// rv is the last RV seen there; vague says that the protocol does not
	// determine it.
	rv    int64
	vague bool
}

func (j *joints) judge(s *model.Stream) {
	from, ok := joint{}, false
	switch {
	case s.ResumesStream != 0:
		from, ok = j.afterStream(s)
	case s.ResumesList != 0:
		from, ok = j.afterList(s)
	case j.isInformer(s.Client) && !s.Watch().HasBlock():
		j.violate(Resumable, resumedNowhere, onStream(s, s.RV))
	}
	if !ok {
		return
	}
	witness := onStream(s, s.RV, from.rv).want(from.rv)
	if follower := j.followers[from.origin]; follower != nil && lastSeen(follower, s.Call) > 0 {
		j.violate(Resumable, resumedTwice, witness.proof(follower, nil).got(lastSeen(follower, s.Call)))
	}
	if told := j.told[from.origin]; told != nil && answeredLast(told) <= s.Call {
		j.violate(Resumable, resumedAfterGone, witness.proof(told, nil))
	}
	if from.client != s.Client || from.scope != s.Scope || queryKey(s.Scope, from.selector) != queryKey(s.Scope, s.Selector) {
		j.violate(Resumable, resumedForeign, witness)
	} else if from.rv != s.RV && !from.vague {
		j.violate(j.resumedElsewhere(s, from.rv, witness))
	}
	if len(s.Events) > 0 && s.Events[0].Type != model.Error {
		j.followers[from.origin] = s
	}
	if expiredAtLast(s) {
		j.told[from.origin] = s
	}
}

// afterStream returns the joint with the stream that this one continues.
func (j *joints) afterStream(s *model.Stream) (joint, bool) {
	before := j.streams[s.ResumesStream]
	if before == nil || before == s {
		j.undecided(HistoryIncomplete, "%s continues a stream that is not in the history", s.Describe())
		return joint{}, false
	}
	from := joint{origin: origin{stream: before.ID}, client: before.Client, scope: before.Scope, selector: before.Selector}
	if from.rv = lastSeen(before, s.Call); from.rv == 0 {
		// Nothing arrived, so the client is where it was.
		from.rv = before.RV
	}
	// Initial events are in order of keys. If no bookmark marks their end, the
	// protocol does not say which RV to resume at.
	from.vague = before.Watch().HasBlock() && !hasMarkBefore(before, s.Call)
	if expiredAtLast(before) && answeredLast(before) <= s.Call {
		j.told[from.origin] = before
	}
	return from, true
}

// afterList returns the joint with the list that a stream begins from.
func (j *joints) afterList(s *model.Stream) (joint, bool) {
	op := j.pages[s.ResumesList]
	if op == nil {
		j.undecided(HistoryIncomplete, "%s continues a list that is not in the history", s.Describe())
		return joint{}, false
	}
	from := joint{origin: origin{list: op.ID}, client: op.Client, scope: op.Scope, selector: op.Selector, rv: op.ResultRV}
	if op.Err != model.OK || op.HasMore || op.Return == model.Pending || op.Return > s.Call {
		j.violate(Resumable, resumedUnfinished, onStream(s, s.RV))
		return joint{}, false
	}
	return from, true
}

// lastSeen returns the RV of the last event that a stream had delivered by a time, 0
// if there was none.
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

// expiredAtLast reports whether a stream ended with 410.
func expiredAtLast(s *model.Stream) bool {
	failed := failureOf(s)
	return s.Err == model.Expired || failed >= 0 && s.Events[failed].Err == model.Expired
}

// answeredLast returns when the last event of a stream arrived.
func answeredLast(s *model.Stream) int64 {
	if len(s.Events) > 0 {
		return s.Events[len(s.Events)-1].Time
	}
	return s.Return
}

// resumedElsewhere returns the violation of resuming elsewhere than at the last RV seen.
func (f *facts) resumedElsewhere(s *model.Stream, seen int64, witness Witness) (*Guarantee, *Code, Witness) {
	if seen < s.RV {
		lost := f.store.Owed(s.Scope, s.Selector, seen, s.RV)
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
