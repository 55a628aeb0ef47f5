package explain

import (
	"fmt"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// informer returns the informer that a violation is about, nil if it is about
// something else.
func (e *Explainer) informer(v linearizability.Violation) *model.Informer {
	if v.Witness.Stream != 0 || len(v.Witness.Operations) > 0 {
		return nil
	}
	for i := range e.history.Informers {
		if informer := &e.history.Informers[i]; informer.Client == v.Witness.Client {
			return informer
		}
	}
	return nil
}

// converging says what an informer ended up with, and what it last heard.
func (e *Explainer) converging(informer *model.Informer) string {
	text := fmt.Sprintf("The informer of client %s on %s, for %s, held %s when the run ended at %s, and said that it had reached RV %d.",
		informer.Client, informer.Server, query(informer.Scope, model.Selector{}), count(len(informer.Objects), "object"),
		at(e.history.End), informer.LastSyncRV)
	if e.store != nil {
		text += fmt.Sprintf(" The last change in etcd is RV %d", e.store.LastRV())
		if e.store.LastRV() > 0 {
			text += fmt.Sprintf(" (%s)", e.author(e.store.LastRV()))
		}
		text += "."
	}
	var last *model.Stream
	streams := 0
	for i := range e.history.Streams {
		if s := &e.history.Streams[i]; s.Client == informer.Client {
			streams++
			if last == nil || s.Call >= last.Call {
				last = s
			}
		}
	}
	if last == nil {
		return text + " It never opened a watch."
	}
	text += fmt.Sprintf(" Its watch was the last of %s: stream %d, opened at %s from %s.", count(streams, "stream"), last.ID, at(last.Call), requested(last.RV))
	if n := len(last.Events); n > 0 {
		text += fmt.Sprintf(" The last that came on it was %s.", event(&last.Events[n-1]))
	} else if last.Err == model.OK {
		text += " Nothing came on it."
	}
	return text + ending(last)
}
