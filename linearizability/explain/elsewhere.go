package explain

import (
	"fmt"
	"math"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// enough is how long another stream must have stayed open after a change for the
// absence of the change to be significant.
const enough = 5 * time.Second

// others says which other streams received the first of the changes involved:
// whether one watcher lost it, or one server, or all.
func (e *Explainer) others(s *model.Stream, witness *linearizability.Witness) string {
	if e.store == nil || s.Err != model.OK {
		return ""
	}
	for _, rv := range witness.RVs {
		if _, changed := e.store.KeyOf(rv); changed {
			return e.othersAt(s, rv)
		}
	}
	return ""
}

// othersAt groups the other streams by whether the change at rv arrived. Those that
// received it live, and those that were open and did not, tell about the dispatch;
// one that began later received it with the initial state, which does not.
func (e *Explainer) othersAt(stream *model.Stream, rv int64) string {
	known := e.knownAt(rv)
	var live, state, without, ended []string
	for s := range model.Each(e.history.Streams) {
		if s == stream || s.Err != model.OK || len(e.owedAt(s, rv)) == 0 {
			continue
		}
		name := fmt.Sprintf("stream %d of client %s on %s", s.ID, s.Client, s.Server)
		arrived, later := arrival(s, rv)
		opened := s.Return != model.Pending && s.Return < known && (s.Watch().HasBlock() || s.RV < rv)
		switch {
		case arrived >= 0 && s.Watch().HasBlock() && s.Call >= known:
			state = append(state, name)
		case arrived >= 0:
			live = append(live, name+" at "+model.At(s.Events[arrived].Time))
		case !opened:
			// It may have started after the change.
		case later || (s.Closed == model.Pending && e.history.End-known >= int64(enough)):
			without = append(without, name)
		case s.Closed != model.Pending && s.Closed > known:
			ended = append(ended, fmt.Sprintf("%s (%s)", name, model.At(s.Closed)))
		}
	}
	var sentences []string
	say := func(format string, streams []string) {
		if len(streams) > 0 {
			sentences = append(sentences, fmt.Sprintf(format, rv, model.Enumerate(some(streams))))
		}
	}
	say("RV %d did arrive on %s.", live)
	say("RV %d did not arrive on %s.", without)
	say("RV %d had not arrived on %s when that ended.", ended)
	say("RV %d was part of the initial events of streams opened later: %s.", state)
	if len(sentences) == 0 {
		return fmt.Sprintf("No other stream was open that should have received RV %d.", rv)
	}
	return join(sentences)
}

// arrival returns which event of a stream delivered the change at rv, -1 if none
// did, and whether any event with a higher RV arrived before.
func arrival(s *model.Stream, rv int64) (index int, later bool) {
	for i := range s.Events {
		event := &s.Events[i]
		if event.IsData() && event.RV == rv {
			return i, later
		}
		later = later || event.RV > rv
	}
	return -1, later
}

// knownAt returns the earliest evidence of the change at rv: the call of the write
// that made it, or the first event that delivered it.
func (e *Explainer) knownAt(rv int64) int64 {
	known := int64(math.MaxInt64)
	if op := e.maker(rv); op != nil {
		known = op.Call
	}
	return e.knownFrom(rv, known)
}

// brought describes the events of other streams that a witness names.
func (e *Explainer) brought(stream *model.Stream, witness *linearizability.Witness) string {
	var facts []string
	for _, other := range witness.Events {
		if s := e.stream(other.Stream); s != nil && s != stream {
			facts = append(facts, fmt.Sprintf("Stream %d of client %s on %s, opened at %s, delivered %s.", s.ID, s.Client, s.Server, model.At(s.Call), arrived(other)))
		}
	}
	return join(some(facts))
}
