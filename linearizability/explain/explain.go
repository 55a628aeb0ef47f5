// Package explain answers one question: what happened around a violation?
//
// A [linearizability.Violation] says in one sentence what is wrong. An
// [Explainer] adds what a person would look up in the history next: the request,
// what etcd had committed and who wrote it, what arrived instead, whether other
// streams saw the same, and which faults, compactions and ends of streams were
// close in time. It only repeats what the history contains, and says so if the
// history does not tell.
//
//   - explain.go: which paragraphs an explanation has, and the text for reports
//   - stream.go: a watch, the events it was owed and those it received
//   - operation.go: requests, the objects that they read and wrote, and the RV that
//     the server of a refused watch had reached
//   - elsewhere.go: what other streams received
//   - census.go: samples of a server, who mutated an object, and the state of an informer
//   - around.go: faults, compactions, and streams that ended together
//   - knowledge.go: what a client had observed of some objects when it made a decision
//   - slice.go: the moments that led to a violation, in order
//   - slice_changes.go: when the changes among them were committed
//   - moments.go: the same for a whole history, and as a numbered list
//   - render.go: text wrapped to fit an issue, tables, and two lists side by side
//   - draw.go: moments as a diagram of 100 columns: time runs down the page, and
//     etcd, the API server and the client have a lane each
package explain

import (
	"strings"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// Explainer explains violations of one history. It does not change it.
type Explainer struct {
	history *model.History
	// store is nil if the revisions of etcd's log are out of order.
	store   *model.Store
	authors model.Authors
	// heard caches what each client had observed.
	heard map[string]reports
}

// New prepares to explain violations that [linearizability.Check] found in a
// history. It takes a fraction of the time of the check.
func New(history *model.History) *Explainer {
	e := &Explainer{history: history, authors: model.NewAuthors(history), heard: map[string]reports{}}
	if history.Truth.InOrder() {
		e.store = model.NewStore(&history.Truth)
	}
	return e
}

// Explain returns the paragraphs that explain a violation: the request, what was
// expected and what arrived, what other streams saw, and what else was going on.
// Times are simulated, from the start of the run.
func (e *Explainer) Explain(v linearizability.Violation) []string {
	var paragraphs []string
	add := func(text string) {
		if text != "" {
			paragraphs = append(paragraphs, text)
		}
	}
	witness := &v.Witness
	stream := witness.Stream
	switch {
	case stream != nil:
		add(e.request(stream))
		add(e.window(stream))
		add(strings.TrimSpace(e.owed(stream, witness.RVs) + " " + e.got(stream, witness)))
		add(e.others(stream, witness))
	case witness.Informer != nil:
		add(e.converging(witness.Informer))
	case witness.Census != nil:
		add(e.counted(witness.Census.Server))
	case len(witness.Operations) == 0 && e.store == nil:
		add(e.disorder(witness.RVs))
	}
	for i, op := range witness.Operations {
		if op != nil {
			add(e.operation(op, i == 0 && stream == nil))
		}
	}
	if len(witness.Operations) > 0 && stream == nil {
		add(e.stored(witness))
	}
	add(e.brought(stream, witness))
	add(e.mutators(v))
	when, server := e.Moment(witness)
	add(e.around(when, server))
	return paragraphs
}

// stream returns the stream with an ID, nil if there is none.
func (e *Explainer) stream(id int) *model.Stream {
	for s := range model.Each(e.history.Streams) {
		if id != 0 && s.ID == id {
			return s
		}
	}
	return nil
}

// streamsWhere returns the streams that satisfy holds.
func (e *Explainer) streamsWhere(holds func(*model.Stream) bool) (all []*model.Stream) {
	for s := range model.Each(e.history.Streams) {
		if holds(s) {
			all = append(all, s)
		}
	}
	return all
}

// Moment returns when a violation showed, and on which server, empty if on none.
func (e *Explainer) Moment(witness *linearizability.Witness) (when int64, server string) {
	stream := witness.Stream
	when = e.history.End
	if stream != nil {
		server = stream.Server
		if stream.Closed != model.Pending {
			when = stream.Closed
		}
		if i := focus(stream, witness); i >= 0 {
			when = stream.Events[i].Time
		}
	}
	for _, event := range witness.Events {
		if of := e.stream(event.Stream); of != nil && stream == nil && len(witness.Operations) == 0 {
			return event.Time, of.Server
		}
	}
	if stream == nil && len(witness.Operations) > 0 && witness.Operations[0] != nil {
		op := witness.Operations[0]
		when, server = op.Return, op.Server
		if op.Return == model.Pending {
			when = op.Call
		}
	}
	if server == "" && (witness.Census != nil || witness.Informer != nil) {
		server = witness.Server()
	}
	return when, server
}

// Report is a violation of a verdict, with its explanation.
type Report struct {
	linearizability.Report
	// Explanation has paragraphs about what happened around it; only the first violations
	// of a verdict have one.
	Explanation []string `json:"explanation,omitempty"`
	// Slice has what led to it, in order of time; the same violations have one.
	Slice []Moment `json:"slice,omitempty"`
}

// Reports returns violations for reports, the first most of them with explanations.
func (e *Explainer) Reports(found []linearizability.Violation, most int) []Report {
	reports := make([]Report, len(found))
	for i, violation := range found {
		reports[i].Report = violation.Report()
		if i < most {
			reports[i].Explanation, reports[i].Slice = e.Explain(violation), e.Slice(violation)
		}
	}
	return reports
}
