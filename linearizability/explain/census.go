package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// counted lists the samples of the server that a violation is about, which are all
// that is known of its internals.
func (e *Explainer) counted(server string) string {
	var facts []string
	for census := range model.Each(e.history.Censuses) {
		if census.Server == server {
			facts = append(facts, fact(census))
		}
	}
	if len(facts) == 0 {
		return ""
	}
	left := ""
	if more := len(facts) - 2*shown; more > 0 {
		facts, left = facts[more:], fmt.Sprintf(" after %s", model.Plural(more, "earlier sample"))
	}
	return fmt.Sprintf("Samples of %s%s: %s.", server, left, strings.Join(facts, "; "))
}

func fact(c *model.Census) string {
	when := map[model.Phase]string{
		model.Serving: "while it served", model.Left: "after its clients had left", model.Stopped: "after it had stopped",
	}[c.Phase]
	watchers := ""
	if c.Watchers != model.Uncounted {
		watchers = fmt.Sprintf(" and %s in the cache", model.Plural(c.Watchers, "watcher"))
	}
	return fmt.Sprintf("at %s, %s, %s%s over %d on etcd, and %s", model.At(c.Time), when, model.Plural(c.Streams, "client watch"), watchers, c.EtcdWatches, model.Plural(c.Goroutines, "goroutine"))
}

// mutators names the stream whose consumer mutated the object that a violation is
// about.
func (e *Explainer) mutators(v linearizability.Violation) string {
	if v.Guarantee != linearizability.Isolated {
		return ""
	}
	var objects []*model.Object
	for _, event := range v.Witness.Events {
		objects = append(objects, event.Object)
	}
	for _, op := range v.Witness.Operations {
		objects = slices.AppendSeq(objects, model.Each(op.Objects))
	}
	for _, object := range objects {
		id, found := model.MutatedBy(object)
		if s := e.stream(id); found && s != nil {
			return fmt.Sprintf("It has the mark of stream %d of client %s on %s, opened at %s for %s: there, the API server mutates each object that the cache delivers, after copying it for the client. "+
				"The cache must have handed the same object to both.", s.ID, s.Client, s.Server, model.At(s.Call), model.Query(s.Scope, s.Selector))
		}
	}
	return ""
}

// converging describes the final state of an informer, and what it last received.
func (e *Explainer) converging(informer *model.Informer) string {
	text := fmt.Sprintf("The informer of client %s on %s, for %s, held %s when the run ended at %s, and reported RV %d.",
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
