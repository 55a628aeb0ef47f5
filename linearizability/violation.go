package linearizability

import (
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// Violation is a broken guarantee and the witness that proves it, or one of an observation.
type Violation struct {
	Guarantee *Guarantee
	Code      *Code
	Witness   Witness
	// More counts the violations of the same guarantee by the same stream or
	// client that Config.ViolationsPerSource cut off after this one.
	More int
}

// Error returns the guarantee's name, what is wrong, and the guarantee in a sentence.
func (v Violation) Error() string {
	text := fmt.Sprintf("%s: %s (%s)", v.Guarantee.Name, v.Code.text(&v.Witness), v.Guarantee)
	if v.More > 0 {
		text += fmt.Sprintf("; and %d more", v.More)
	}
	return text
}

// Sentence says in one sentence who missed or received what.
func (v Violation) Sentence() string { return v.Code.plain(&v.Witness) }

// Unwrap returns the guarantee.
func (v Violation) Unwrap() error { return v.Guarantee }

// Witness is the smallest part of a history that proves a violation. It points
// into the history and must not be changed. Each code uses some of its fields.
type Witness struct {
	// Client is the client whose stream, operation or informer broke the guarantee,
	// or the server of a census; empty if etcd itself broke it.
	Client string
	// Stream, Informer and Census are what the violation is about, or nil.
	Stream   *model.Stream
	Informer *model.Informer
	Census   *model.Census
	// Operations are the operations involved, the one at fault first.
	Operations []*model.Operation
	// Events are the events involved, the one at fault first.
	Events []*model.Event
	// RVs are the revisions of the changes involved.
	RVs []int64
	// Key is the object that etcd itself, or an informer, has wrong.
	Key model.Key

	// Want is what was expected and Got what was found: RVs, counts or durations,
	// depending on the code. Owed is the event that was expected.
	Want, Got int64
	Owed      *model.Transition
	// Differences are how a state or an object differs from the expected one.
	Differences []Difference
	// Other and Evidence are another stream and event that prove it.
	Other    *model.Stream
	Evidence *model.Event
	// Time is when the violation showed, and Since the start of what is measured, if
	// these are not the times of an event or operation.
	Time, Since int64
}

// Subject returns the kind of thing that broke the guarantee: "stream", "informer",
// "server", the kind of an operation, or "etcd".
func (w *Witness) Subject() string {
	switch {
	case w.Stream != nil:
		return "stream"
	case len(w.Operations) > 0:
		return string(w.Operations[0].Kind)
	case w.Informer != nil:
		return "informer"
	case w.Census != nil:
		return "server"
	}
	return "etcd"
}

// Server returns the server that the subject used, empty for etcd.
func (w *Witness) Server() string {
	switch {
	case w.Stream != nil:
		return w.Stream.Server
	case len(w.Operations) > 0:
		return w.Operations[0].Server
	case w.Informer != nil:
		return w.Informer.Server
	case w.Census != nil:
		return w.Census.Server
	}
	return ""
}

// Flaws returns the kinds of differences, each once, sorted.
func (w *Witness) Flaws() []string {
	var flaws []string
	for _, d := range w.Differences {
		flaws = append(flaws, d.Flaw.String())
	}
	slices.Sort(flaws)
	return slices.Compact(flaws)
}

// about returns a witness of an operation.
func about(op *model.Operation, rvs ...int64) Witness {
	return Witness{Client: op.Client, Operations: []*model.Operation{op}, RVs: rvs}
}

// want, got, owing, showing and proof set what was expected, found and owed, the event at
// fault, and what else proves the violation; at and since set the times.
func (w Witness) want(n int64) Witness { w.Want = n; return w }

func (w Witness) got(n int64) Witness { w.Got = n; return w }

func (w Witness) owing(owed *model.Transition) Witness { w.Owed = owed; return w }

func (w Witness) showing(event *model.Event) Witness {
	w.Events = []*model.Event{event}
	return w
}

func (w Witness) at(time int64) Witness { w.Time = time; return w }

func (w Witness) since(time int64) Witness { w.Since = time; return w }

func (w Witness) proof(other *model.Stream, event *model.Event) Witness {
	w.Other, w.Evidence = other, event
	return w
}

func (w Witness) differing(differences ...Difference) Witness {
	w.Differences = differences
	return w
}

// after adds the operation that returned before the one at fault.
func (w Witness) after(before *model.Operation) Witness {
	w.Operations = append(w.Operations, before)
	return w
}

// afterSeeing adds what had been seen before: an event of another stream, or an operation.
func (w Witness) afterSeeing(m model.Moment) Witness {
	if m.Event != nil {
		w.Events, w.Other = []*model.Event{m.Event}, m.Stream
	} else if m.Operation != nil {
		w = w.after(m.Operation)
	}
	return w
}

// onStream returns a witness of a stream.
func onStream(s *model.Stream, rvs ...int64) Witness {
	return Witness{Client: s.Client, Stream: s, RVs: rvs}
}
