package linearizability_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// wrote returns the acknowledged update that made the change at RV 15, wroteAt one at another RV.
func wrote(returned int64) model.Operation {
	return changed(wroteAt(15, returned), func(op *model.Operation) { op.ID = 1 })
}

func wroteAt(rv, returned int64) model.Operation {
	object := *objectAt(rv)
	object.RV = 0
	return model.Operation{ID: int(rv), Client: "w", Server: "s1", Kind: model.Update, Scope: model.Scope{Namespace: "a", Name: "x"},
		RV: model.RVUnset, Object: &object, Call: returned - second, Return: returned, ResultRV: rv}
}

// stalled returns an open stream of a stalled consumer.
func stalled() model.Stream {
	return model.Stream{ID: 9, Client: "sleeper", Server: "s1", RV: 12, Consumer: "stalled", Call: 3 * second, Return: 3 * second, Closed: model.Pending}
}

func TestNobodyWaitsForAStalledConsumer(t *testing.T) {
	const written = 20 // seconds, long after the settling at 6 s
	prompt := guarantees{linearizability.Prompt}
	late := func(delay time.Duration) []model.Event {
		return cameAt(written*second+delay.Nanoseconds(), modified(15))
	}
	reader := model.Stream{RV: 12, Consumer: "fast"}
	history := func(reader, idler model.Stream, write int64, events []model.Event) *model.History {
		h := quietHistory(reader, 40, events...)
		s := &h.Streams[0]
		s.Server = cmp.Or(reader.Server, s.Server)
		s.Call, s.Return = cmp.Or(reader.Return, s.Call), cmp.Or(reader.Return, s.Return)
		h.Streams = append(h.Streams, idler)
		h.Operations = []model.Operation{wrote(write * second)}
		return h
	}
	judgeCounted(t, func(c linearizability.Counts) int { return c.Unblocked }, []countedRow{
		{"at once", history(reader, stalled(), written, late(0)), 1, nil},
		{"before the write was acknowledged", history(reader, stalled(), written, late(-time.Millisecond)), 1, nil},
		{"within the budget", history(reader, stalled(), written, late(2*time.Second)), 1, nil},
		{"beside a slow consumer", history(reader, changed(stalled(), func(s *model.Stream) { s.Consumer = "slow" }), written, late(time.Second)), 1, nil},

		// These are late, but not certainly because of a stalled consumer. Those that are late
		// without any reason break Prompt.
		{"no slow consumer", history(reader, changed(stalled(), func(s *model.Stream) { s.Consumer, s.Closed = "hiccuping", 39*second }), written, late(9*time.Second)), 0,
			prompt},
		{"a stalled consumer of another server", history(reader, changed(stalled(), func(s *model.Stream) { s.Server = "s2" }), written, late(9*time.Second)), 0,
			prompt},
		{"read from another server", history(model.Stream{RV: 12, Consumer: "fast", Server: "s2"}, stalled(), written, late(9*time.Second)), 0, prompt},
		{"left before", history(reader, changed(stalled(), func(s *model.Stream) { s.Closed = (written - 1) * second }), written, late(9*time.Second)), 0, prompt},
		{"opened later", history(reader, changed(stalled(), func(s *model.Stream) { s.Call, s.Return = 21*second, 21*second }), written, late(9*time.Second)), 0,
			prompt},
		{"the stalled client's watch failed", history(reader, changed(stalled(), func(s *model.Stream) { s.Err = model.Unavailable }), written, late(9*time.Second)), 0,
			prompt},
		{"the reader is not fast", history(model.Stream{RV: 12, Consumer: "hiccuping"}, stalled(), written, late(9*time.Second)), 0, nil},
		{"written before the run had settled", history(reader, stalled(), 5, late(9*time.Second)), 0, nil},
		{"part of the stream's start", history(model.Stream{RV: 12, Consumer: "fast", Return: 22 * second}, stalled(), written, late(9*time.Second)), 0,
			guarantees{linearizability.Answered}},

		{"too late", history(reader, stalled(), written, late(2*time.Second+1)), 1, guarantees{linearizability.Unblocked}},
		{"too late beside a slow consumer", history(reader, changed(stalled(), func(s *model.Stream) { s.Consumer = "slow" }), written, late(3*time.Second)), 1,
			guarantees{linearizability.Unblocked}},
	})
}

// A stream that begins with a backlog may be late as long as the backlog lasts; once
// it has caught up, it must not be late again.
func TestABacklogTakesItsTime(t *testing.T) {
	update := func(rv, returned int64) model.Operation { return wroteAt(rv, returned*second) }
	// The first is before the run has settled, and not judged.
	writes := []model.Operation{update(5, 5), update(7, 18), update(15, 26)}
	quick := []model.Operation{update(5, 10), update(7, 11), update(15, 12)}
	read := func(first, then, last int64) []model.Event {
		return []model.Event{received(first, modified(5)), received(then, modified(7)), received(last, modified(15))}
	}
	history := func(writes []model.Operation, events []model.Event) *model.History {
		h := quietHistory(model.Stream{RV: 4, Consumer: "fast", Scope: model.Scope{Namespace: "a", Name: "x"}}, 40, events...)
		h.Streams = append(h.Streams, stalled())
		h.Operations = writes
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"at once", history(writes, read(6, 18, 26)), nil},
		{"one after the other", history(writes, read(7, 19, 27)), nil},
		{"late, right behind the backlog", history(writes, read(20, 21, 28)), nil},
		{"late, at the end of the backlog", history(quick, read(12, 13, 15)), nil},
		{"late, after the backlog", history(writes, read(7, 21, 27)), guarantees{linearizability.Unblocked}},
		{"late again after it had caught up", history(writes, read(20, 20, 30)), guarantees{linearizability.Unblocked}},
		{"delays that add up", history(quick, read(10, 13, 15)), guarantees{linearizability.Unblocked}},
	})
}

// One of the initial events may arrive well in time while others are still on the wire.
func TestInitialEventsAreABacklog(t *testing.T) {
	h := quietHistory(model.Stream{Consumer: "fast", Scope: model.Scope{Namespace: "a"}}, 40,
		received(10, added(7)), received(20, added(4)),
		received(20, deleted(12)), received(20, modified(15)))
	h.Streams = append(h.Streams, stalled())
	h.Operations = []model.Operation{wroteAt(7, 10*second), wrote(11 * second)}
	judge(t, h, nil)
}
