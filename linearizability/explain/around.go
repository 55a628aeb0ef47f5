package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
)

// What is close enough in time to a violation to be reported.
const (
	// faultsBefore is about how long a fault has effects after it ends.
	faultsBefore = 5 * time.Second
	// endsBefore is how far back ends of streams are searched for.
	endsBefore = 10 * time.Second
	// together is how close in time the ends of streams with one cause are.
	together = 500 * time.Millisecond
)

// around describes the faults, compactions and ends of streams near a violation.
func (e *Explainer) around(when int64, server string) string {
	sentences := []string{e.faults(when)}
	if floor := e.compactions(when); floor != "" {
		sentences = append(sentences, floor)
	}
	if server != "" {
		sentences = append(sentences, e.ends(when, server))
	}
	return join(sentences)
}

// faults names the active faults, those that had just ended, or the last one.
func (e *Explainer) faults(when int64) string {
	var during, recent []string
	var last *model.Fault
	for fault := range model.Each(e.history.Faults) {
		if fault.Begin > when {
			continue
		}
		name := nameOf(fault)
		switch {
		case fault.End >= when:
			during = append(during, name+" (since "+model.At(fault.Begin)+")")
		case when-fault.End <= int64(faultsBefore):
			recent = append(recent, name+" (to "+model.At(fault.End)+")")
		}
		if last == nil || fault.End > last.End {
			last = fault
		}
	}
	active, besides := "no fault was active", ""
	if len(during) > 0 {
		active = "these faults were active: " + model.Enumerate(some(during))
	}
	switch {
	case len(e.history.Faults) == 0:
		return "The history has no faults."
	case last == nil:
		active = "no fault had begun yet"
	case len(recent) > 0:
		besides = "; shortly before: " + model.Enumerate(some(recent))
	case len(during) == 0:
		besides = fmt.Sprintf("; the last, %s, had ended at %s", nameOf(last), model.At(last.End))
	}
	return fmt.Sprintf("At %s %s%s.", model.At(when), active, besides)
}

// nameOf returns the name of a fault, with its note.
func nameOf(fault *model.Fault) string { return strings.TrimSpace(fault.Name + " " + fault.Note) }

// compactions names the last compaction that etcd may have made by then.
func (e *Explainer) compactions(when int64) string {
	var last *model.Compaction
	for c := range model.Each(e.history.Truth.Compactions) {
		if (c.Time == model.Pending || c.Time <= when) && (last == nil || c.RV > last.RV) {
			last = c
		}
	}
	switch {
	case last == nil && len(e.history.Truth.Compactions) > 0:
		return "etcd had not been compacted yet."
	case last == nil:
		return ""
	case last.Time == model.Pending:
		return fmt.Sprintf("etcd may have been compacted at RV %d, at an unknown time.", last.RV)
	}
	return fmt.Sprintf("etcd's compaction at RV %d had been requested at %s.", last.RV, model.At(last.Time))
}

// ends looks for signs of a cache that reinitialised: it ends all its streams at
// once. A server that stops or crashes does so, too.
func (e *Explainer) ends(when int64, server string) string {
	batch, stayed := e.endedTogether(when, server)
	if len(batch) == 0 {
		return fmt.Sprintf("In the %v before, %s ended no stream: nothing shows that its cache reinitialised.", endsBefore, server)
	}
	last := batch[len(batch)-1].Closed
	ids := make([]string, len(batch))
	for i, s := range batch {
		ids[i] = fmt.Sprint(s.ID)
	}
	text := fmt.Sprintf("Streams %s of %s had all ended by %s, none of them closed by its client", model.Enumerate(some(ids)), server, model.At(last))
	if len(ids) == 1 {
		text = fmt.Sprintf("Stream %s of %s had ended at %s, not closed by its client", ids[0], server, model.At(last))
	}
	if stayed > 0 {
		return text + fmt.Sprintf(", while %s stayed open: the cache had not reinitialised.", model.Plural(stayed, "other"))
	}
	return text + ", and no other stream stayed open: the cache may have reinitialised, or the server stopped."
}

// endedTogether returns, in order, the streams that a server ended at about the same
// time, the last such time before when; stayed is how many others stayed open.
func (e *Explainer) endedTogether(when int64, server string) (batch []*model.Stream, stayed int) {
	ended := e.streamsWhere(func(s *model.Stream) bool {
		return s.Server == server && s.Err == model.OK && s.Closed != model.Pending && s.Reason != model.ClosedByClient &&
			s.Closed <= when && when-s.Closed <= int64(endsBefore)
	})
	if len(ended) == 0 {
		return nil, 0
	}
	slices.SortStableFunc(ended, func(a, b *model.Stream) int { return int(a.Closed - b.Closed) })
	last := ended[len(ended)-1].Closed
	batch = slices.DeleteFunc(slices.Clone(ended), func(s *model.Stream) bool { return last-s.Closed > int64(together) })
	others := e.streamsWhere(func(s *model.Stream) bool {
		return s.Server == server && s.Err == model.OK && s.Return != model.Pending && s.Return < batch[0].Closed && (s.Closed == model.Pending || s.Closed > last)
	})
	return batch, len(others)
}
