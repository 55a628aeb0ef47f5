package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// Decision is a request that depends on what its client had observed before.
type Decision struct {
	Client string // as the history names it
	Time   int64  // when it made the request
	RV     int64  // where the request took effect: nothing later could have been observed
}

// Knowledge returns a paragraph about which changes to some objects of a resource a client had observed when it made a decision:
// all that etcd had committed until then, or which it had not observed, who had made them, and when the client observed them
// later. A client has observed a change if a get, a list or a watch returned that state of the object, or a later one. The response
// to the client's own write does not count, because a cache that lists and watches fill does not have it.
//
// It is empty if none of the objects had ever been changed.
func (e *Explainer) Knowledge(resource string, decision Decision, about func(*model.Object) bool) string {
	var changes []*model.Change
	exists := map[model.Key]bool{}
	what := map[*model.Change]string{}
	for change := range model.Each(e.history.Truth.Changes) {
		if change.RV >= decision.RV || !about(&change.Object) {
			continue
		}
		changes = append(changes, change)
		key := change.Object.Key()
		switch {
		case change.Deleted:
			what[change] = "deleted"
		case exists[key]:
			what[change] = "changed"
		default:
			what[change] = "created"
		}
		exists[key] = !change.Deleted
	}
	happened := func(c *model.Change) string {
		return fmt.Sprintf("%s was %s at RV %d", c.Object.Key(), what[c], c.RV)
	}
	if len(changes) == 0 {
		return ""
	}
	heard := e.reportsTo(decision.Client)
	if len(heard) == 0 {
		return fmt.Sprintf("No list or watch of %s by %s was recorded.", resource, decision.Client)
	}
	var unknown []string
	var last *model.Change
	var when int64
	for _, change := range changes {
		at := heard.first(change)
		if at != model.Pending && at <= decision.Time {
			if last == nil || at >= when {
				last, when = change, at
			}
			continue
		}
		unknown = append(unknown, fmt.Sprintf("%s (%s), and %s", happened(change), e.author(change.RV), after(at, decision.Time)))
	}
	text := decision.Client + " had observed "
	switch told := len(changes) - len(unknown); {
	case len(unknown) == 0:
		text += fmt.Sprintf("all relevant changes to %s, the last %v before: %s.", resource, between(when, decision.Time), happened(last))
	case told == 0:
		text += fmt.Sprintf("no relevant change to %s. ", resource)
	default:
		text += fmt.Sprintf("%s to %s, the last %v before: %s. ", model.Plural(told, "relevant change"), resource, between(when, decision.Time), happened(last))
	}
	if len(unknown) > 0 {
		text += "It had not observed that " + model.Enumerate(some(unknown)) + "."
	}
	return text
}

// Told returns when a client first observed the change at an RV, or a later state of that object, by a get, a list or a watch; Pending if it
// never did.
func (e *Explainer) Told(client string, rv int64) int64 {
	for change := range model.Each(e.history.Truth.Changes) {
		if change.RV == rv {
			return e.reportsTo(client).first(change)
		}
	}
	return model.Pending
}

// after says when a client observed a change that it had not observed when it decided.
func after(told, decided int64) string {
	if told == model.Pending {
		return "never did"
	}
	return fmt.Sprintf("did so %v later", between(decided, told))
}

func between(from, to int64) time.Duration {
	d := time.Duration(to - from)
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// report is what a client observed at a time.
type report struct {
	time  int64
	rv    int64
	scope model.Scope
	// objects are the RVs of the observed objects, by key. If all is set, there were no others in
	// the scope.
	objects map[model.Key]int64
	all     bool
}

// tells reports whether the report contains a change, or a later one to the same object.
func (r *report) tells(change *model.Change) bool {
	if !r.scope.Contains(change.Object.Key()) {
		return false
	}
	if rv, told := r.objects[change.Object.Key()]; told {
		return rv >= change.RV
	}
	return r.all && r.rv >= change.RV
}

// reports are in order of time.
type reports []report

// first returns when a change was first observed, Pending for never.
func (all reports) first(change *model.Change) int64 {
	for i := range all {
		if all[i].tells(change) {
			return all[i].time
		}
	}
	return model.Pending
}

// reportsTo returns what a client observed by gets, lists and watches.
func (e *Explainer) reportsTo(client string) (all reports) {
	if known, is := e.heard[client]; is {
		return known
	}
	defer func() { e.heard[client] = all }()
	for op := range model.Each(e.history.Operations) {
		if op.Client != client || op.Kind != model.List && op.Kind != model.Get || op.Err != model.OK || op.Return == model.Pending {
			continue
		}
		r := report{time: op.Return, rv: op.ResultRV, scope: op.Scope, objects: map[model.Key]int64{}}
		r.all = op.Kind == model.List && op.Selector.Empty() && op.Continues == 0 && !op.HasMore
		for i := range op.Objects {
			r.objects[op.Objects[i].Key()] = op.Objects[i].RV
		}
		all = append(all, r)
	}
	for s := range model.Each(e.history.Streams) {
		if s.Client != client || s.Err != model.OK {
			continue
		}
		initial := map[model.Key]int64{}
		for event := range model.Each(s.Events) {
			switch {
			case event.IsData():
				initial[event.Object.Key()] = event.RV
				all = append(all, report{time: event.Time, scope: s.Scope, objects: map[model.Key]int64{event.Object.Key(): event.RV}})
			case event.InitialEnd && s.Selector.Empty():
				all = append(all, report{time: event.Time, rv: event.RV, scope: s.Scope, objects: initial, all: true})
				initial = map[model.Key]int64{}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b report) int { return int(a.time - b.time) })
	return all
}
