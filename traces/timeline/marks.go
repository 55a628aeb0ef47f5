package timeline

import (
	"slices"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
)

const (
	// maxMarks is the most violations and observations that a page marks.
	maxMarks = 200
	// maxOwed is the most owed changes of one stream in a page.
	maxOwed = 20_000
)

// markData is a violation or an observation.
type markData struct {
	Breaks      bool       `json:"breaks"`
	Name        string     `json:"name"`  // of the guarantee or phenomenon
	Plain       text       `json:"plain"` // what happened, in one short sentence
	Text        text       `json:"text"`
	Explanation list[text] `json:"explanation"`
	Client      text       `json:"client"`
	Server      text       `json:"server"`
	Stream      int        `json:"stream"`     // its index, -1 for none
	Operations  list[int]  `json:"operations"` // their indices
	Events      list[int]  `json:"events"`     // their indices among the events of all streams
	Versions    list[int]  `json:"versions"`   // the versions involved
	Time        float64    `json:"time"`       // when it showed
	At          int        `json:"at"`         // the version at which it shows
	// Owed and Came are the items of a list that differ, if the mark is about one.
	Owed list[itemData] `json:"owed"`
	Came list[itemData] `json:"came"`
}

// itemData is an object in a list, at its version.
type itemData struct {
	Object  int `json:"object"`
	Version int `json:"version"`
}

// owedData has the events that one stream of a mark is owed.
type owedData struct {
	Stream   int                   `json:"stream"`
	Types    list[model.EventType] `json:"types"`
	Versions list[int]             `json:"versions"`
	Objects  list[int]             `json:"objects"`
	// Cut says that there are more than maxOwed.
	Cut bool `json:"cut"`
}

// marks adds what the oracle found.
func (b *builder) marks(verdict *linearizability.Verdict) {
	m := &marker{builder: b, explainer: explain.New(b.history), owing: map[int]bool{}}
	witnesses := make([]*linearizability.Witness, 0, len(verdict.Violations)+len(verdict.Observations))
	for violation := range model.Each(verdict.Violations) {
		witnesses = append(witnesses, &violation.Witness)
	}
	for observation := range model.Each(verdict.Observations) {
		witnesses = append(witnesses, &observation.Witness)
	}
	b.data.Left = max(0, len(witnesses)-maxMarks)
	m.find(witnesses[:len(witnesses)-b.data.Left])
	for i, witness := range witnesses[:len(witnesses)-b.data.Left] {
		mark := m.mark(witness)
		if i < len(verdict.Violations) {
			violation := &verdict.Violations[i]
			mark.Breaks, mark.Name, mark.Text = true, violation.Guarantee.Name, text(violation.Error())
			mark.Plain = text(violation.Sentence())
			for _, paragraph := range m.explainer.Explain(*violation) {
				mark.Explanation = append(mark.Explanation, text(paragraph))
			}
		} else {
			observation := &verdict.Observations[i-len(verdict.Violations)]
			mark.Name, mark.Text = observation.Guarantee.Name, text(observation.Error())
			mark.Plain = text(observation.Error())
		}
		b.data.Marks = append(b.data.Marks, mark)
	}
}

// marker turns witnesses, which point into the history, into indices.
type marker struct {
	*builder
	explainer *explain.Explainer
	store     *model.Store // nil if the changes are not in order
	streams   map[int]int  // indices by ID
	places    map[*model.Operation]int
	events    map[*model.Event]int // indices among the events of all streams
	owing     map[int]bool         // the streams that have their owedData
}

// find looks up the indices of all that witnesses point to, in one pass.
func (m *marker) find(witnesses []*linearizability.Witness) {
	h := m.history
	if h.Truth.InOrder() && h.Truth.Revision > 0 {
		m.store = model.NewStore(&h.Truth)
	}
	m.streams, m.places, m.events = map[int]int{}, map[*model.Operation]int{}, map[*model.Event]int{}
	for _, witness := range witnesses {
		for _, event := range witness.Events {
			m.events[event] = -1
		}
	}
	for i := range h.Operations {
		m.places[&h.Operations[i]] = i
	}
	all := 0
	for i := range h.Streams {
		m.streams[h.Streams[i].ID] = i
		for event := range model.Each(h.Streams[i].Events) {
			if _, wanted := m.events[event]; wanted {
				m.events[event] = all
			}
			all++
		}
	}
}

// mark returns the mark of a witness.
func (m *marker) mark(witness *linearizability.Witness) markData {
	mark := markData{Client: text(witness.Client), Stream: -1}
	for _, op := range witness.Operations {
		if place, known := m.places[op]; known {
			mark.Operations = append(mark.Operations, place)
		}
	}
	for _, event := range witness.Events {
		if place := m.events[event]; place >= 0 {
			mark.Events = append(mark.Events, place)
		}
	}
	for _, rv := range witness.RVs {
		mark.Versions = append(mark.Versions, m.versions.rank(rv))
	}
	if witness.Stream != nil {
		mark.Stream = m.streams[witness.Stream.ID]
	}
	m.moment(&mark, witness)
	m.owed(mark.Stream, witness)
	m.items(&mark)
	return mark
}

// moment sets when and where a mark shows.
func (m *marker) moment(mark *markData, witness *linearizability.Witness) {
	at := int64(0)
	when, server := m.explainer.Moment(witness)
	switch {
	case len(witness.RVs) > 0:
		at = witness.RVs[0]
	case len(witness.Events) > 0:
		at = witness.Events[0].RV
	case len(mark.Operations) > 0:
		op := &m.history.Operations[mark.Operations[0]]
		at = max(op.ResultRV, op.RV)
	}
	if witness.Census != nil {
		mark.Client = "" // it is the server
	}
	mark.Time, mark.Server, mark.At = seconds(when), text(server), m.versions.rank(max(at, 0))
}

// owed adds the events that a stream is owed, once for each stream.
func (m *marker) owed(place int, witness *linearizability.Witness) {
	if place < 0 || m.store == nil || m.owing[place] || m.history.Streams[place].Err != model.OK {
		return
	}
	m.owing[place] = true
	stream := &m.history.Streams[place]
	from, to := beginningOf(stream), m.history.Truth.Revision
	if stream.Closed != model.Pending {
		to = from
		for event := range model.Each(stream.Events) {
			to = max(to, event.RV)
		}
		to = min(max(to, slices.Max(append(witness.RVs, 0))), m.history.Truth.Revision)
	}
	one := owedData{Stream: place}
	for _, owed := range m.store.Owed(stream.Scope, stream.Selector, from, to) {
		if one.Cut = len(one.Types) == maxOwed; one.Cut {
			break
		}
		one.Types, one.Versions = append(one.Types, owed.Type), append(one.Versions, m.versions.rank(owed.RV))
		one.Objects = append(one.Objects, m.object(owed.Object))
	}
	m.data.Owed = append(m.data.Owed, one)
}

// beginningOf returns the RV after which a stream is owed changes: that of the request,
// or the newest in its initial block. The block may have been taken at a later one,
// which is unknown.
func beginningOf(s *model.Stream) int64 {
	if !s.InitialEvents && s.RV > 0 {
		return s.RV
	}
	newest := int64(0)
	if mark := s.Mark(); mark >= 0 {
		return s.Events[mark].RV
	}
	for i := 0; i < len(s.Events) && s.Events[i].Type == model.Added && s.Events[i].Time == s.Events[0].Time; i++ {
		newest = max(newest, s.Events[i].RV)
	}
	return newest
}

// items adds the differences between what a list returned and what was stored at its
// version. Pages are left out, because each is a part of a list.
func (m *marker) items(mark *markData) {
	if len(mark.Operations) == 0 || m.store == nil {
		return
	}
	op := &m.history.Operations[mark.Operations[0]]
	if op.Kind != model.List || op.Err != model.OK || op.Continues != 0 || op.HasMore || op.ResultRV > m.history.Truth.Revision {
		return
	}
	stored := m.store.List(op.Scope, op.Selector, op.ResultRV)
	for _, object := range stored {
		if !slices.ContainsFunc(op.Objects, func(o model.Object) bool { return object.Equal(&o) }) {
			mark.Owed = append(mark.Owed, itemData{m.object(object), m.versions.rank(object.RV)})
		}
	}
	for object := range model.Each(op.Objects) {
		if !slices.ContainsFunc(stored, func(o *model.Object) bool { return o.Equal(object) }) {
			mark.Came = append(mark.Came, itemData{m.object(object), m.versions.rank(object.RV)})
		}
	}
}

// leaderData is who led etcd from a time on.
type leaderData struct {
	Time   float64 `json:"time"`
	Member text    `json:"member"`
	Term   int64   `json:"term"`
}

// windowData is what a cache held from a time on.
type windowData struct {
	Time    float64 `json:"time"`
	Server  text    `json:"server"`
	Filling int     `json:"filling"`
	Since   int     `json:"since"`
	Newest  int     `json:"newest"`
}

// standing adds the leaders and the windows of caches.
func (b *builder) standing() {
	for _, leader := range b.history.Leaders {
		b.data.Leaders = append(b.data.Leaders, leaderData{seconds(leader.Time), text(leader.Member), leader.Term})
	}
	for _, w := range b.history.Windows {
		b.data.Windows = append(b.data.Windows, windowData{seconds(w.Time), text(w.Server), w.Filling, b.versions.rank(w.Since), b.versions.rank(w.Newest)})
	}
}
