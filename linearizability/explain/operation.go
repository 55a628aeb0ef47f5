package explain

import (
	"fmt"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// operation describes a request and its response: in full if it is at fault, in
// short if it is one that the violation contradicts.
func (e *Explainer) operation(op *model.Operation, atFault bool) string {
	text := fmt.Sprintf("Client %s called operation %d on %s at %s: %s.", op.Client, op.ID, op.Server, model.At(op.Call), op.Request())
	if !atFault {
		text = fmt.Sprintf("Operation %d of client %s on %s (%s) was %s.", op.ID, op.Client, op.Server, op.Interval(), op.Request())
	}
	return text + " " + answered(op)
}

// answered describes the response.
func answered(op *model.Operation) string {
	switch {
	case op.Return == model.Pending:
		return "It never got a response."
	case op.Err == model.Unknown:
		return fmt.Sprintf("At %s it failed with an unknown outcome: %s.", model.At(op.Return), quoted(op.Err, op.Message))
	case op.Err != model.OK:
		return fmt.Sprintf("At %s the response was %s.", model.At(op.Return), quoted(op.Err, op.Message))
	}
	text := fmt.Sprintf("At %s it succeeded", model.At(op.Return))
	if op.ResultRV != 0 {
		text += fmt.Sprintf(" with RV %d", op.ResultRV)
	}
	if op.Kind == model.List {
		text += " and " + model.Plural(len(op.Objects), "item")
		if op.HasMore {
			text += ", and a continue token"
			if op.Remaining >= 0 {
				text += fmt.Sprintf(" (%d remaining)", op.Remaining)
			}
		}
	}
	return text + "."
}

// stored says what etcd committed for the operation at fault: the versions of its
// object, or for a list the changes that the witness names.
func (e *Explainer) stored(witness *linearizability.Witness) string {
	op := witness.Operations[0]
	if e.store == nil || op == nil {
		return ""
	}
	if op.Kind != model.List {
		return e.versions(op.Key(), op)
	}
	var facts []string
	for _, rv := range distinct(append([]int64{op.ResultRV}, witness.RVs...)) {
		if key, changed := e.store.KeyOf(rv); changed {
			facts = append(facts, fmt.Sprintf("RV %d, a change to %s (%s)", rv, key, e.author(rv)))
		}
	}
	floor := ""
	if compacted := e.history.Truth.CompactedBy(op.Return); compacted > 0 {
		floor = fmt.Sprintf(" By then etcd had been compacted at RV %d at most.", compacted)
	}
	if len(facts) == 0 {
		return fmt.Sprintf("etcd's last revision was %d.", e.history.Truth.Revision) + floor
	}
	return "etcd's write-ahead log has " + model.Enumerate(some(facts)) + "." + floor
}

// versions lists the versions of an object around an operation.
func (e *Explainer) versions(key model.Key, op *model.Operation) string {
	all := e.store.Versions(key)
	if len(all) == 0 {
		return fmt.Sprintf("etcd never stored %s.", key)
	}
	// The versions around the newest one relevant to the operation.
	last := len(all) - 1
	for last > 0 && op.ResultRV > 0 && all[last-1].RV >= op.ResultRV && len(all)-last < shown {
		last--
	}
	last = min(len(all)-1, last+shown/2)
	first := max(0, last-shown+1)
	var parts []string
	for _, version := range all[first : last+1] {
		what := "written"
		if version.Object == nil {
			what = "deleted"
		}
		parts = append(parts, fmt.Sprintf("%s at RV %d (%s)", what, version.RV, e.author(version.RV)))
	}
	text := fmt.Sprintf("In etcd, %s was %s", key, model.Enumerate(parts))
	if rest := len(all) - len(parts); rest > 0 {
		text += fmt.Sprintf("; %s are left out", model.Plural(rest, "other version"))
	}
	return text + "."
}

// disorder lists etcd's log around revisions that are out of order.
func (e *Explainer) disorder(rvs []int64) string {
	changes := e.history.Truth.Changes
	for i := range changes {
		if len(rvs) == 0 || changes[i].RV != rvs[len(rvs)-1] {
			continue
		}
		var parts []string
		for _, change := range changes[max(0, i-before):min(len(changes), i+2)] {
			parts = append(parts, fmt.Sprintf("%s at RV %d", change.Object.Key(), change.RV))
		}
		return fmt.Sprintf("etcd's log has, in this order, %s. Its last revision is %d. Without an order of revisions nothing else can be judged.",
			model.Enumerate(parts), e.history.Truth.Revision)
	}
	return ""
}

// window says, for a watch that was refused for its resourceVersion, which RV the
// server had reached, by what it had sent before, and how many changes its cache needs
// to hold to serve the watch.
func (e *Explainer) window(s *model.Stream) string {
	if refusal := s.Refusal(); refusal != model.Expired && refusal != model.TooLarge {
		return ""
	}
	var newest *model.Event
	for other := range model.Each(e.history.Streams) {
		for event := range model.Each(other.Events) {
			if other.Server == s.Server && event.Time < s.Call && event.IsData() && (newest == nil || event.RV > newest.RV) {
				newest = event
			}
		}
	}
	if newest == nil {
		return fmt.Sprintf("Before that, %s had sent nothing on any stream.", s.Server)
	}
	text := fmt.Sprintf("Before that, %s had sent up to RV %d (%s at %s, on stream %d)", s.Server, newest.RV, newest.Type, model.At(newest.Time), newest.Stream)
	switch {
	case e.store == nil || s.RV <= 0:
		return text + "."
	case s.RV >= newest.RV:
		return text + fmt.Sprintf("; etcd's last revision in this run is %d.", e.history.Truth.Revision)
	}
	return text + fmt.Sprintf("; from RV %d to there, a cache must hold %s of the resource.", s.RV, model.Plural(e.store.CountChanges(s.RV, newest.RV), "change"))
}
