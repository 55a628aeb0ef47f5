package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// Lane is the kind of process that something happened to.
type Lane string

// The lanes, from the storage to the client.
const (
	Etcd   Lane = "etcd"
	Server Lane = "server"
	Client Lane = "client"
	// Fault is not a process, but the lane of faults.
	Fault Lane = "fault"
)

// Mark says how a moment relates to a violation.
type Mark string

// The marks; most moments have none.
const (
	// Owed is what should have arrived, or should have been seen.
	Owed Mark = "owed"
	// Came is what arrived instead, and broke the guarantee.
	Came Mark = "came"
)

// cameIf returns Came if a moment broke the guarantee.
func cameIf(broke bool) Mark {
	if broke {
		return Came
	}
	return ""
}

// Moment is something that led to a violation.
type Moment struct {
	// Time is when it happened, and End when it was over, in nanoseconds of simulated
	// time. They are the same for something without a duration.
	Time int64 `json:"time"`
	End  int64 `json:"end"`
	Lane Lane  `json:"lane"`
	// Process is the server or client that did it. Stream is the ID of the client's
	// stream, 0 if it is not about one.
	Process string `json:"process,omitempty"`
	Stream  int    `json:"stream,omitempty"`
	Text    string `json:"text"`
	Mark    Mark   `json:"mark,omitempty"`

	rv int64 // of the change that it is about, 0 for anything else
	// asked says that Time is when the change was requested, because no response says
	// when it was made.
	asked bool
}

// The limits of a slice.
const (
	// sliceChanges is the most changes.
	sliceChanges = 6
	// sliceWitnesses is the most other streams that received a change.
	sliceWitnesses = 3
	// sliceFaults is the most faults; those that ended last are kept.
	sliceFaults = 6
	// sliceEvents is the most events of a stream before the one at fault.
	sliceEvents = 4
)

// slicer gathers moments.
type slicer struct {
	*Explainer
	witness *linearizability.Witness
	stream  *model.Stream
	when    int64
	server  string
	moments []Moment
	told    map[int64]bool // the revisions included
}

// Slice returns what led to a violation, in order of time: the requests, the
// changes and who made them, the events, the faults, and finally what broke the
// guarantee. What is irrelevant is left out.
func (e *Explainer) Slice(v linearizability.Violation) []Moment {
	s := &slicer{Explainer: e, witness: &v.Witness, stream: v.Witness.Stream, told: map[int64]bool{}}
	s.when, s.server = e.Moment(s.witness)
	switch {
	case s.stream != nil:
		s.past(s.stream)
		s.watch(s.stream)
	case v.Witness.Informer != nil:
		s.informers(v.Witness.Informer)
	case v.Witness.Census != nil:
		s.counts(v.Witness.Census)
	}
	for i, op := range v.Witness.Operations {
		if op != nil {
			s.operation(op, i == 0 && s.stream == nil)
		}
	}
	for _, event := range v.Witness.Events {
		if of := e.stream(event.Stream); of != nil && of != s.stream {
			s.client(of, event.Time, "receives "+event.Describe(), "")
		}
	}
	for _, rv := range distinct(v.Witness.RVs) {
		s.change(rv, s.mark(rv))
	}
	s.background()
	s.inOrder()
	order := []Lane{Fault, Etcd, Server, Client} // at one instant, causes come first
	slices.SortStableFunc(s.moments, func(a, b Moment) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(slices.Index(order, a.Lane), slices.Index(order, b.Lane)), cmp.Compare(a.rv, b.rv))
	})
	return s.moments
}

func (s *slicer) add(m Moment) {
	if m.End < m.Time {
		m.End = m.Time
	}
	s.moments = append(s.moments, m)
}

func (s *slicer) client(of *model.Stream, time int64, text string, mark Mark) {
	s.add(Moment{Time: time, Lane: Client, Process: of.Client, Stream: of.ID, Text: text, Mark: mark})
}

// life adds a stream from its request to its end, with at most the given number of its
// last events.
func (s *slicer) life(of *model.Stream, most int, on string) {
	s.client(of, of.Call, opening(of)+on, "")
	if of.Err != model.OK {
		s.client(of, of.Return, "is refused: "+quoted(of.Err, of.Message), "")
		return
	}
	for i := max(0, len(of.Events)-most); i < len(of.Events); i++ {
		s.client(of, of.Events[i].Time, "receives "+of.Events[i].Describe(), "")
	}
	s.end(of)
}

// end adds the end of a stream, if it had one.
func (s *slicer) end(of *model.Stream) {
	if of.Closed != model.Pending {
		s.client(of, of.Closed, "ends: "+of.EndReason(), "")
	}
}

// mark returns Owed if the change at rv was owed to the stream.
func (s *slicer) mark(rv int64) Mark {
	if s.stream == nil || s.store == nil || s.stream.Err != model.OK || s.afterEnd(s.stream, rv) {
		return ""
	}
	start, known := startOf(s.stream)
	if len(s.owedAt(s.stream, rv)) > 0 && !(known && rv <= start) {
		return Owed
	}
	return ""
}

// past adds what a stream resumes from.
func (s *slicer) past(of *model.Stream) {
	if before := s.Explainer.stream(of.ResumesStream); before != nil {
		s.client(before, before.Call, opening(before), "")
		if last := lastEvent(before); last != nil {
			s.client(before, last.Time, "receives "+last.Describe()+", its last", "")
		}
		s.end(before)
	}
	s.list(of.ResumesList)
}

// list adds the list with an ID, if there is one.
func (s *slicer) list(id int) {
	for op := range model.Each(s.history.Operations) {
		if id != 0 && op.ID == id {
			s.operation(op, false)
		}
	}
}

func opening(of *model.Stream) string {
	text := fmt.Sprintf("watches %s from %s", model.Query(of.Scope, of.Selector), model.Requested(of.RV))
	if of.InitialEvents {
		text += " with initial events"
	}
	return text
}

// watch adds the stream that a violation is about.
func (s *slicer) watch(of *model.Stream) {
	s.client(of, of.Call, opening(of), "")
	if of.Err != model.OK {
		s.client(of, of.Return, "is refused: "+quoted(of.Err, of.Message), Came)
		return
	}
	fault := focus(of, s.witness)
	last := fault
	if fault < 0 {
		last = len(of.Events) - 1
	}
	first := max(0, last-sliceEvents)
	_, block := of.Beginning()
	if of.Mark() >= 0 {
		block-- // the mark is an event of its own
	}
	if block > 0 && block <= last {
		s.client(of, of.Events[block-1].Time, "has received the initial state, "+model.Plural(block, "event"), "")
		first = max(first, block)
	}
	for i := first; i <= last; i++ {
		s.client(of, of.Events[i].Time, "receives "+of.Events[i].Describe(), cameIf(i == fault))
		if of.Events[i].IsData() {
			s.change(of.Events[i].RV, "")
		}
	}
	rvs := distinct(s.witness.RVs)
	for _, rv := range rvs[:min(len(rvs), shown)] {
		s.missing(of, rv, fault)
		s.witnesses(of, rv)
	}
	if of.Closed <= s.when {
		s.end(of)
	}
}

// missing adds that an owed event never arrived, or arrived too late.
func (s *slicer) missing(of *model.Stream, rv int64, fault int) {
	if s.mark(rv) != Owed {
		return
	}
	what := s.owedAt(of, rv)[0].Describe()
	arrived, _ := arrival(of, rv)
	switch {
	case arrived < 0 && s.when >= 0:
		s.client(of, s.when, "has never received "+what, Owed)
	case fault >= 0 && arrived > fault:
		s.client(of, of.Events[arrived].Time, "receives "+what+", too late", Owed)
	}
}

// witnesses adds other streams of the server that received the change at rv live.
func (s *slicer) witnesses(of *model.Stream, rv int64) {
	if s.store == nil {
		return
	}
	known, told := s.knownAt(rv), 0
	for other := range model.Each(s.history.Streams) {
		if other == of || other.Err != model.OK || told == sliceWitnesses || len(s.owedAt(other, rv)) == 0 {
			continue
		}
		if arrived, _ := arrival(other, rv); arrived >= 0 && other.Call < known && other.Server == of.Server {
			s.client(other, other.Events[arrived].Time, "receives "+other.Events[arrived].Describe(), "")
			told++
		}
	}
}

// operation adds a request and its response.
func (s *slicer) operation(op *model.Operation, atFault bool) {
	s.list(op.Continues) // IDs grow, so that this ends
	s.call(op, "", cameIf(atFault))
	if s.store == nil {
		return
	}
	// What the response shows, and what it should have shown.
	if op.ResultRV > 0 {
		s.change(op.ResultRV, "")
	}
	if op.Kind != model.List {
		for _, version := range s.store.Versions(op.Key()) {
			if made := s.maker(version.RV); made != nil && made.Call <= op.Call && version.RV > op.ResultRV {
				s.change(version.RV, "")
			}
		}
	}
}

// call adds a request, and its response.
func (s *slicer) call(op *model.Operation, on string, mark Mark) {
	s.add(Moment{Time: op.Call, Lane: Client, Process: op.Client, Text: fmt.Sprintf("calls %s%s (operation %d)", op.Request(), on, op.ID)})
	if op.Return != model.Pending {
		s.add(Moment{Time: op.Return, Lane: Client, Process: op.Client, Text: s.answer(op), Mark: mark})
	}
}

// answer describes the response to an operation briefly.
func (s *slicer) answer(op *model.Operation) string {
	text := fmt.Sprintf("operation %d is answered", op.ID)
	switch {
	case op.Err == model.Unknown:
		return fmt.Sprintf("operation %d fails with an unknown outcome: %s", op.ID, quoted(op.Err, op.Message))
	case op.Err != model.OK:
		return fmt.Sprintf("%s %s", text, quoted(op.Err, op.Message))
	}
	if op.ResultRV != 0 {
		text += fmt.Sprintf(" at RV %d", op.ResultRV)
	}
	if op.Kind == model.List {
		text += " with " + model.Plural(len(op.Objects), "item")
		if len(op.Objects) > 0 && len(op.Objects) <= shown {
			var names []string
			for i := range op.Objects {
				names = append(names, fmt.Sprintf("%s at RV %d", op.Objects[i].Key(), op.Objects[i].RV))
			}
			text += ": " + model.Enumerate(names)
		}
	}
	return text
}

// informers adds the last two watches of an informer, and its final state.
func (s *slicer) informers(informer *model.Informer) {
	own := s.streamsWhere(func(of *model.Stream) bool { return of.Client == informer.Client })
	for _, of := range own[max(0, len(own)-2):] {
		s.life(of, sliceEvents, "")
	}
	s.add(Moment{Time: s.history.End, Lane: Client, Process: informer.Client, Mark: Came,
		Text: fmt.Sprintf("the informer holds %s and is at RV %d", model.Plural(len(informer.Objects), "object"), informer.LastSyncRV)})
	if s.store != nil {
		s.change(s.store.LastRV(), Owed)
	}
}

// counts adds the last samples of a server, up to the one that broke the guarantee.
func (s *slicer) counts(worst *model.Census) {
	own := slices.DeleteFunc(slices.Collect(model.Each(s.history.Censuses)), func(c *model.Census) bool { return c.Server != worst.Server })
	last := slices.Index(own, worst)
	for _, census := range own[max(0, last-sliceEvents) : last+1] {
		s.add(Moment{Time: census.Time, Lane: Server, Process: census.Server, Text: counts(census), Mark: cameIf(census == worst)})
	}
}

// counts describes a census briefly.
func counts(c *model.Census) string {
	text := fmt.Sprintf("serves %s over %d on etcd", model.Plural(c.Streams, "client watch"), c.EtcdWatches)
	if c.Watchers != model.Uncounted {
		text += fmt.Sprintf(", %s in its cache", model.Plural(c.Watchers, "watcher"))
	}
	when := map[model.Phase]string{model.Left: "; its clients have left", model.Stopped: "; it has stopped"}[c.Phase]
	return text + when
}

// opens reports whether a fault was active at the server while the stream opened, up to
// its first event: a cache that relists then may lose a watch, which shows much
// later.
func (s *slicer) opens(fault *model.Fault) bool {
	if s.stream == nil || s.stream.Err != model.OK {
		return false
	}
	until := s.stream.Return
	if len(s.stream.Events) > 0 {
		until = s.stream.Events[0].Time
	}
	return fault.End >= s.stream.Call && fault.Begin <= until && slices.Contains(fault.Processes, s.server)
}

// momentOf returns a fault as a moment.
func momentOf(fault *model.Fault) Moment {
	return Moment{Time: fault.Begin, End: fault.End, Lane: Fault, Text: nameOf(fault)}
}

// background adds faults, the last compaction, and streams that ended together.
func (s *slicer) background() {
	var faults []Moment
	for fault := range model.Each(s.history.Faults) {
		if fault.Begin <= s.when && s.when-fault.End <= int64(faultsBefore) || s.opens(fault) {
			faults = append(faults, momentOf(fault))
		}
	}
	slices.SortStableFunc(faults, func(a, b Moment) int { return cmp.Compare(a.End, b.End) })
	for _, fault := range faults[max(0, len(faults)-sliceFaults):] {
		s.add(fault)
	}
	var compaction *model.Compaction
	for c := range model.Each(s.history.Truth.Compactions) {
		if c.Time != model.Pending && c.Time <= s.when && (compaction == nil || c.RV > compaction.RV) {
			compaction = c
		}
	}
	if compaction != nil {
		s.add(Moment{Time: compaction.Time, Lane: Etcd, Process: "etcd", Text: fmt.Sprintf("is compacted at RV %d", compaction.RV)})
	}
	if s.server == "" {
		return
	}
	if batch, stayed := s.endedTogether(s.when, s.server); len(batch) > 0 {
		text := fmt.Sprintf("ends %s", model.Plural(len(batch), "stream"))
		if stayed == 0 {
			text += ", all it has"
		}
		s.add(Moment{Time: batch[0].Closed, End: batch[len(batch)-1].Closed, Lane: Server, Process: s.server, Text: text})
	}
}
