package linearizability

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
)

// This file makes the messages of violations, from the sentences of codes.go and the
// values of witnesses.

// plain returns the sentence of a code: who missed or received what.
func (c *Code) plain(w *Witness) string { return expand(c.sentence, w) }

// text returns the sentence, where to find its subject in the history, and what
// proves it.
func (c *Code) text(w *Witness) string {
	text, detail := c.plain(w), expand(c.detail, w)
	switch {
	case w.Stream != nil:
		text += "; " + w.Stream.Describe()
		if detail == "" && len(w.Events) > 0 && w.eventOfStream() {
			detail = "it arrived at " + model.At(w.Events[0].Time)
		}
	case len(w.Operations) > 0:
		for _, op := range w.Operations {
			text += fmt.Sprintf("; operation %d on %s was %s, %s", op.ID, op.Server, op.Request(), op.Interval())
		}
	}
	if detail == "" {
		return text
	}
	if w.Stream != nil {
		return text + ": " + detail
	}
	return text + "; " + detail
}

func (w *Witness) eventOfStream() bool { return w.Events[0].Stream == w.Stream.ID }

// expand fills the values of a witness into a sentence. A part in brackets is left
// out if one of its values is missing.
func expand(sentence string, w *Witness) string {
	var b strings.Builder
	for sentence != "" {
		i := strings.IndexAny(sentence, "{[")
		if i < 0 {
			b.WriteString(sentence)
			break
		}
		b.WriteString(sentence[:i])
		if sentence[i] == '{' {
			name, rest, _ := strings.Cut(sentence[i+1:], "}")
			b.WriteString(w.value(name))
			sentence = rest
			continue
		}
		part, rest, _ := strings.Cut(sentence[i+1:], "]")
		if w.has(part) {
			b.WriteString(expand(part, w))
		}
		sentence = rest
	}
	return b.String()
}

// has reports whether the witness has all values that a part of a sentence names.
func (w *Witness) has(part string) bool {
	for {
		_, after, found := strings.Cut(part, "{")
		if !found {
			return true
		}
		name, rest, _ := strings.Cut(after, "}")
		if w.value(name) == "" {
			return false
		}
		part = rest
	}
}

// value returns the value of a word in braces, empty if the witness lacks it. A number
// may be followed by what it counts.
func (w *Witness) value(name string) string {
	name, unit, counted := strings.Cut(name, " ")
	if counted {
		n := w.Got
		if name == "more" {
			if n--; n == 0 {
				return ""
			}
		}
		return model.Plural(int(n), unit)
	}
	switch {
	case name == "want":
		return strconv.FormatInt(w.Want, 10)
	case name == "got":
		return strconv.FormatInt(w.Got, 10)
	case name == "took":
		return time.Duration(w.Got).String()
	case name == "allowed":
		return time.Duration(w.Want).String()
	case name == "time":
		return model.At(w.Time)
	case name == "since":
		return model.At(w.Since)
	case name == "client":
		return w.Client
	case name == "server":
		return w.Server()
	case name == "key":
		return w.Key.String()
	case name == "differences":
		return describeDifferences(w.Differences)
	case name == "rv" && len(w.RVs) > 0:
		return model.Requested(w.RVs[0])
	case name == "rv2" && len(w.RVs) > 1:
		return model.Requested(w.RVs[1])
	case name == "event" && len(w.Events) > 0:
		return w.Events[0].Describe()
	case name == "eventtime" && len(w.Events) > 0:
		return model.At(w.Events[0].Time)
	case name == "evidence" && w.Evidence != nil:
		return w.Evidence.Describe()
	case name == "evidencetime" && w.Evidence != nil:
		return model.At(w.Evidence.Time)
	case name == "owed" && w.Owed != nil:
		return w.Owed.Describe()
	case name == "missed" && w.Owed != nil:
		return w.missed()
	case name == "subject" && w.Stream != nil:
		return fmt.Sprintf("%s's watch from %s (stream %d)", w.Client, model.Requested(w.Stream.RV), w.Stream.ID)
	case (name == "op" || name == "subject") && len(w.Operations) > 0:
		return w.Operations[0].Describe()
	case name == "op2" && len(w.Operations) > 1:
		return w.Operations[1].Describe()
	case name == "outcome" && len(w.Operations) > 0:
		return w.Operations[0].Outcome()
	case name == "other" && w.Other != nil:
		return fmt.Sprintf("stream %d of %s on %s", w.Other.ID, w.Other.Client, w.Other.Server)
	case name == "consumer" && w.Other != nil:
		return w.Other.Consumer
	case name == "stream" && w.Stream != nil:
		return strconv.Itoa(w.Stream.ID)
	case name == "origin" && w.Stream != nil && w.Stream.ResumesStream != 0:
		return fmt.Sprintf("stream %d", w.Stream.ResumesStream)
	case name == "origin" && w.Stream != nil:
		return fmt.Sprintf("the list of operation %d", w.Stream.ResumesList)
	case name == "scope" && w.Informer != nil:
		return model.Query(w.Informer.Scope, model.Selector{})
	case name == "watches" && w.Census != nil:
		return model.Plural(w.Census.Streams, "client watch")
	case name == "leftovers" && w.Census != nil:
		return model.Enumerate(leftovers(w.Census))
	case name == "phase" && w.Census != nil && w.Census.Phase == model.Stopped:
		return "after it had stopped"
	case name == "phase" && w.Census != nil:
		return "after its clients had left"
	case name == "message":
		return w.message()
	case name == "shown":
		return w.shown()
	case name == "seen":
		return w.seen()
	case name == "holder":
		return w.holder()
	case name == "mutator" && w.Other != nil:
		return w.value("other")
	case name == "mutator":
		return fmt.Sprintf("stream %d", w.Got)
	}
	return ""
}

// missed says whether an event that had not arrived when a later one did arrived at
// all.
func (w *Witness) missed() string {
	for e := range model.Each(w.Stream.Events) {
		if e.IsData() && e.RV == w.Owed.RV {
			return fmt.Sprintf("received %s too late, at %s", w.Owed.Describe(), model.At(e.Time))
		}
	}
	return "never received " + w.Owed.Describe()
}

// message returns the message of the server.
func (w *Witness) message() string {
	switch {
	case len(w.Events) > 0:
		return w.Events[0].Message
	case w.Stream != nil:
		return w.Stream.Message
	}
	return w.Operations[0].Message
}

// shown describes what a client was shown that is older than what it had seen.
func (w *Witness) shown() string {
	if w.Stream != nil {
		return fmt.Sprintf("the initial events of stream %d were at RV %d", w.Stream.ID, w.Got)
	}
	return fmt.Sprintf("operation %d (%s) returned %s", w.Operations[0].ID, w.Operations[0].Request(), w.Operations[0].Outcome())
}

// seen describes what a client had seen before.
func (w *Witness) seen() string {
	if len(w.Events) > 0 {
		return fmt.Sprintf("%s had arrived on stream %d", w.Events[0].Describe(), w.Other.ID)
	}
	last := w.RVs[len(w.RVs)-1]
	if w.Stream == nil && len(w.Operations) == 1 {
		return fmt.Sprintf("etcd had reached RV %d", last)
	}
	return fmt.Sprintf("operation %d had returned RV %d", w.Operations[len(w.Operations)-1].ID, last)
}

// holder says who has an object that a consumer has mutated.
func (w *Witness) holder() string {
	switch {
	case w.Stream != nil:
		return fmt.Sprintf("%s received %s", w.Client, w.Events[0].Describe())
	case len(w.Operations) > 0:
		return fmt.Sprintf("%s returned %s", w.Operations[0].Describe(), w.Key)
	case w.Informer != nil:
		return fmt.Sprintf("%s's store holds %s", w.Client, w.Key)
	}
	return fmt.Sprintf("etcd stores %s (RV %d)", w.Key, w.RVs[0])
}
