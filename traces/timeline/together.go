package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// Part is the history of one resource of a cluster, and the oracle's verdict on it.
type Part struct {
	Name    string
	Header  traces.Header
	History *model.History
	Verdict linearizability.Verdict
}

// Together returns one page of several resources of a cluster, which share etcd's revisions. Each object is prefixed with its
// resource, each client has one lane for all, and the verdict is the worst. Violations are marked only on the page of their own
// resource. The parts must not be used afterwards.
//
// It is an error if a part does not name its resource, or two have the same one.
func Together(parts []Part) (Page, error) {
	whole := &model.History{}
	page := Page{History: whole}
	began := make([]time.Time, len(parts))
	var names, reasons []string
	for i, part := range parts {
		resource := part.Header.Attributes[traces.AttributeResource]
		if resource == "" || slices.Contains(names, resource) {
			return page, fmt.Errorf("%s: expected a history of one resource, and no other of the same, found resource %q in its header; merge those of one resource by simrun import", part.Name, resource)
		}
		names = append(names, resource)
		began[i], _ = time.Parse(time.RFC3339Nano, part.Header.Attributes[traces.AttributeBegan])
		page.About = append(page.About, [2]string{resource, fmt.Sprintf("%s, %s", part.Verdict.Outcome, model.Plural(len(part.History.Truth.Changes), "change"))})
		if part.Verdict.Outcome != linearizability.Passed {
			reasons = append(reasons, fmt.Sprintf("%s: %s", resource, part.Verdict.Outcome))
		}
		if page.Verdict.Outcome == "" || part.Verdict.Outcome == linearizability.Failed || page.Verdict.Outcome == linearizability.Passed {
			page.Verdict.Outcome = part.Verdict.Outcome
		}
	}
	page.Title, page.Verdict.Reason = strings.Join(names, ", "), strings.Join(reasons, "; ")
	first := slices.MinFunc(began, time.Time.Compare)
	for i, part := range parts {
		j := joiner{whole, names[i], int64(began[i].Sub(first)), lastID(whole)}
		j.join(part.History)
	}
	slices.SortStableFunc(whole.Truth.Changes, func(a, b model.Change) int { return cmp.Compare(a.RV, b.RV) })
	return page, nil
}

// joiner adds the history of a resource to those of others.
type joiner struct {
	whole    *model.History
	resource string
	later    int64 // by how much its times are later
	ids      int   // by how much its IDs are higher
}

func lastID(h *model.History) (last int) {
	for op := range model.Each(h.Operations) {
		last = max(last, op.ID)
	}
	for s := range model.Each(h.Streams) {
		last = max(last, s.ID)
	}
	return last
}

func (j joiner) join(h *model.History) {
	w := j.whole
	for op := range model.Each(h.Operations) {
		op.ID, op.Continues = j.id(op.ID), j.id(op.Continues)
		op.Call, op.Return = j.at(op.Call), j.at(op.Return)
		j.name(&op.Scope.Namespace)
		if op.Object != nil {
			meant := *op.Object
			op.Object = &meant
			j.name(&op.Object.Namespace)
		}
	}
	w.Operations = append(w.Operations, h.Operations...)
	for s := range model.Each(h.Streams) {
		s.ID, s.ResumesList, s.ResumesStream = j.id(s.ID), j.id(s.ResumesList), j.id(s.ResumesStream)
		s.Call, s.Return, s.Closed = j.at(s.Call), j.at(s.Return), j.at(s.Closed)
		j.name(&s.Scope.Namespace)
		for event := range model.Each(s.Events) {
			event.Stream, event.Time = s.ID, j.at(event.Time)
			if event.Object != nil {
				brought := *event.Object
				event.Object = &brought
				j.name(&event.Object.Namespace)
			}
		}
	}
	w.Streams = append(w.Streams, h.Streams...)
	for change := range model.Each(h.Truth.Changes) {
		j.name(&change.Object.Namespace)
	}
	w.Truth.Changes = append(w.Truth.Changes, h.Truth.Changes...)
	w.Truth.Revision = max(w.Truth.Revision, h.Truth.Revision)
	w.Healed, w.End = max(w.Healed, j.at(h.Healed)), max(w.End, j.at(h.End))
	// These are the same for all resources, and in each part.
	if len(w.Truth.Compactions) == 0 {
		w.Truth.Compactions = h.Truth.Compactions
		for compaction := range model.Each(w.Truth.Compactions) {
			compaction.Time = j.at(compaction.Time)
		}
	}
	if len(w.Faults) == 0 {
		w.Faults = h.Faults
		for fault := range model.Each(w.Faults) {
			fault.Begin, fault.End = j.at(fault.Begin), j.at(fault.End)
		}
	}
}

func (j joiner) at(time int64) int64 {
	if time == model.Pending {
		return time
	}
	return time + j.later
}

func (j joiner) id(id int) int {
	if id == 0 {
		return 0
	}
	return id + j.ids
}

// name puts the resource in front of a namespace.
func (j joiner) name(namespace *string) {
	if *namespace != "" {
		*namespace = "/" + *namespace
	}
	*namespace = j.resource + *namespace
}
