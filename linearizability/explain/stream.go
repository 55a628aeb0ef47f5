package explain

import (
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// request describes the request of a stream, how it began and how it ended.
func (e *Explainer) request(s *model.Stream) string {
	text := fmt.Sprintf("Client %s opened stream %d on %s at %s for %s, from %s", s.Client, s.ID, s.Server, model.At(s.Call),
		model.Query(s.Scope, s.Selector), model.Requested(s.RV))
	var with []string
	if s.InitialEvents {
		with = append(with, "initial events")
	}
	if s.Bookmarks {
		with = append(with, "bookmarks")
	}
	if len(with) > 0 {
		text += ", with " + model.Enumerate(with)
	}
	switch {
	case s.ResumesStream != 0:
		text += fmt.Sprintf(", resuming stream %d", s.ResumesStream) + e.lastOf(s.ResumesStream)
	case s.ResumesList != 0:
		text += fmt.Sprintf(", continuing from the list of operation %d", s.ResumesList)
	}
	text += "."
	if s.Consumer != "" && s.Consumer != "fast" {
		text += fmt.Sprintf(" It had a %s consumer.", s.Consumer)
	}
	return text + beginning(s) + ending(s)
}

// lastOf describes the last event of a stream that another one resumes.
func (e *Explainer) lastOf(id int) string {
	s := e.stream(id)
	if s == nil {
		return ""
	}
	if last := lastEvent(s); last != nil {
		return ", after " + arrived(last)
	}
	return ", on which nothing had arrived"
}

// lastEvent returns the last event of a stream other than an ERROR, nil if there is none.
func lastEvent(s *model.Stream) *model.Event {
	for i := range slices.Backward(s.Events) {
		if s.Events[i].Type != model.Error {
			return &s.Events[i]
		}
	}
	return nil
}

// owedAt returns the transition that a stream is owed for the change at rv, if any.
func (e *Explainer) owedAt(s *model.Stream, rv int64) []model.Transition {
	return e.store.Owed(s.Scope, s.Selector, rv-1, rv)
}

// beginning describes the initial events.
func beginning(s *model.Stream) string {
	if s.Err != model.OK || !s.Watch().HasBlock() {
		return ""
	}
	_, count := s.Beginning()
	if mark := s.Mark(); mark >= 0 {
		were := "were"
		if mark == 1 {
			were = "was"
		}
		return fmt.Sprintf(" Its %s %s marked as complete at RV %d (%s).", model.Plural(mark, "initial event"), were, s.Events[mark].RV, model.At(s.Events[mark].Time))
	}
	if count == 0 {
		return " No initial events arrived."
	}
	return fmt.Sprintf(" It began with %s, the last at RV %d (%s); no bookmark marks the end of the initial events.",
		model.Plural(count, "ADDED event"), s.Events[count-1].RV, model.At(s.Events[count-1].Time))
}

// ending describes how a stream ended.
func ending(s *model.Stream) string {
	switch {
	case s.Err != model.OK:
		return fmt.Sprintf(" It was refused at %s with %s.", model.At(s.Return), quoted(s.Err, s.Message))
	case s.Closed == model.Pending:
		return " It was open until the end of the run."
	}
	return fmt.Sprintf(" At %s %s.", model.At(s.Closed), s.EndReason())
}

// before is how many events before the one at fault are listed.
const before = 3

// owed says what a stream was owed at each of some revisions.
func (e *Explainer) owed(s *model.Stream, rvs []int64) string {
	if e.store == nil || s.Err != model.OK {
		return ""
	}
	start, known := startOf(s)
	var owed, begun, other []string
	for _, rv := range distinct(rvs) {
		key, changed := e.store.KeyOf(rv)
		transitions := e.owedAt(s, rv)
		switch {
		case len(transitions) > 0:
			what := fmt.Sprintf("%s %s at RV %d (%s)", transitions[0].Type, key, rv, e.author(rv))
			switch {
			case known && rv <= start:
				begun = append(begun, what)
			case e.afterEnd(s, rv):
				other = append(other, fmt.Sprintf("%s was committed after it ended.", what))
			default:
				owed = append(owed, what)
			}
		case changed:
			other = append(other, fmt.Sprintf("At RV %d etcd changed %s (%s), which does not match the stream before or after that change.", rv, key, e.author(rv)))
		case rv > e.history.Truth.Revision:
			other = append(other, fmt.Sprintf("etcd never reached RV %d; its last revision was %d.", rv, e.history.Truth.Revision))
		default:
			other = append(other, fmt.Sprintf("At RV %d no object of the resource changed.", rv))
		}
	}
	var sentences []string
	if len(begun) > 0 {
		sentences = append(sentences, fmt.Sprintf("Its changes begin after RV %d, up to which etcd's write-ahead log has %s.", start, model.Enumerate(some(begun))))
	}
	if len(owed) > 0 {
		sentences = append(sentences, "According to etcd's write-ahead log it should have received "+model.Enumerate(some(owed))+".")
	}
	return join(append(sentences, some(other)...))
}

// afterEnd reports whether a change was certainly made after a stream had ended.
func (e *Explainer) afterEnd(s *model.Stream, rv int64) bool {
	op := e.maker(rv)
	return op != nil && s.Closed != model.Pending && op.Call > s.Closed
}

// distinct returns the valid revisions, each once.
func distinct(rvs []int64) []int64 {
	var kept []int64
	for _, rv := range rvs {
		if rv > 0 && !slices.Contains(kept, rv) {
			kept = append(kept, rv)
		}
	}
	return kept
}

// startOf returns the RV that a stream starts after, and whether it is certain.
func startOf(s *model.Stream) (rv int64, known bool) {
	rv, _ = s.Beginning()
	return rv, !s.Watch().HasBlock() || s.Mark() >= 0
}

// maker returns the operation that made the change at rv, nil if no recorded one is
// known to have made it.
func (e *Explainer) maker(rv int64) *model.Operation {
	if i, known := e.authors.Deletion(rv); known {
		return &e.history.Operations[i]
	}
	changes := e.history.Truth.Changes
	i, found := slices.BinarySearchFunc(changes, rv, func(c model.Change, rv int64) int { return int(c.RV - rv) })
	if !found || changes[i].Deleted {
		return nil
	}
	author, known := e.authors.Of(&changes[i])
	if !known {
		return nil
	}
	return &e.history.Operations[author]
}

// author says which operation made the change at rv.
func (e *Explainer) author(rv int64) string {
	op := e.maker(rv)
	if op == nil {
		return "no recorded operation wrote it"
	}
	return fmt.Sprintf("%s by client %s, operation %d, %s", op.Verb(), op.Client, op.ID, op.Interval())
}

// got lists the events before the one at fault, or the last ones if none is.
func (e *Explainer) got(s *model.Stream, witness *linearizability.Witness) string {
	if s.Err != model.OK {
		return ""
	}
	text, fault, last := "", focus(s, witness), len(s.Events)-1
	if fault >= 0 {
		last = fault
	}
	var events []string
	for i := max(0, last-before); i <= last; i++ {
		events = append(events, arrived(&s.Events[i]))
	}
	switch {
	case len(events) == 0:
		text = "Nothing arrived on it."
	case fault < 0:
		text = "The last events that arrived on it: " + model.Enumerate(events) + "."
	case len(events) == 1:
		text = "The first event that arrived on it was " + events[0] + "."
	default:
		text = "It received " + model.Enumerate(events[:len(events)-1]) + ", then " + events[len(events)-1] + "."
	}
	return text + e.lateOrNever(s, witness.RVs, fault)
}

// focus returns the index of the event that a violation is about: the one at fault,
// else the first at one of the revisions involved, else -1.
func focus(s *model.Stream, witness *linearizability.Witness) int {
	for _, event := range witness.Events {
		for i := range s.Events {
			if &s.Events[i] == event {
				return i
			}
		}
	}
	return slices.IndexFunc(s.Events, func(event model.Event) bool {
		return event.IsData() && slices.Contains(witness.RVs, event.RV)
	})
}

// lateOrNever says whether events that were owed before the event at fault arrived
// at all.
func (e *Explainer) lateOrNever(s *model.Stream, rvs []int64, fault int) string {
	if e.store == nil {
		return ""
	}
	start, known := startOf(s)
	var sentences []string
	for _, rv := range distinct(rvs) {
		if len(e.owedAt(s, rv)) == 0 || (known && rv <= start && !s.Watch().HasBlock()) || e.afterEnd(s, rv) {
			continue
		}
		arrived, _ := arrival(s, rv)
		switch {
		case arrived < 0:
			sentences = append(sentences, fmt.Sprintf("RV %d never arrived.", rv))
		case fault >= 0 && arrived > fault:
			sentences = append(sentences, fmt.Sprintf("RV %d arrived after that, at %s.", rv, model.At(s.Events[arrived].Time)))
		}
	}
	if len(sentences) == 0 {
		return ""
	}
	return " " + join(some(sentences))
}
