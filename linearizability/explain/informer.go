package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// converging says what an informer ended up with, and what it last heard.
func (e *Explainer) converging(informer *model.Informer) string {
	text := fmt.Sprintf("The informer of client %s on %s, for %s, held %s when the run ended at %s, and said that it had reached RV %d.",
		informer.Client, informer.Server, model.Query(informer.Scope, model.Selector{}), model.Plural(len(informer.Objects), "object"),
		model.At(e.history.End), informer.LastSyncRV)
	if e.store != nil {
		text += fmt.Sprintf(" The last change in etcd is RV %d", e.store.LastRV())
		if e.store.LastRV() > 0 {
			text += fmt.Sprintf(" (%s)", e.author(e.store.LastRV()))
		}
		text += "."
	}
	streams := e.streamsWhere(func(s *model.Stream) bool { return s.Client == informer.Client })
	if len(streams) == 0 {
		return text + " It never opened a watch."
	}
	slices.SortStableFunc(streams, func(a, b *model.Stream) int { return cmp.Compare(a.Call, b.Call) })
	last := streams[len(streams)-1]
	text += fmt.Sprintf(" Its watch was the last of %s: stream %d, opened at %s from %s.", model.Plural(len(streams), "stream"), last.ID, model.At(last.Call), model.Requested(last.RV))
	if n := len(last.Events); n > 0 {
		text += fmt.Sprintf(" The last event on it was %s.", arrived(&last.Events[n-1]))
	} else if last.Err == model.OK {
		text += " Nothing arrived on it."
	}
	return text + ending(last)
}
