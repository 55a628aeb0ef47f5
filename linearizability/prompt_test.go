package linearizability_test

import (
	"testing"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

func TestEventsArePrompt(t *testing.T) {
	reader := model.Stream{RV: 12, Consumer: "fast"}
	// The write is acknowledged at 20 s, and its event comes a while later.
	at := func(after time.Duration) []model.Event {
		return cameAt(20*second+int64(after), modified(15))
	}
	behind := func(first, then time.Duration) []model.Event {
		return append(cameAt(20*second+int64(first), deleted(12)), at(then)...)
	}
	marked := model.Stream{RV: 0, Bookmarks: true, InitialEvents: true, Consumer: "fast"}
	block := func(after time.Duration) []model.Event {
		return append(cameAt(3*second, added(7)), cameAt(20*second+int64(after), added(9), initialEnd(14))...)
	}
	history := func(stream model.Stream, events []model.Event, changes ...func(*model.History)) *model.History {
		h := quietHistory(stream, 40, events...)
		h.Operations, h.Steady = []model.Operation{wrote(20 * second)}, true
		for _, change := range changes {
			change(h)
		}
		return h
	}
	judgeCounted(t, func(c linearizability.Counts) int { return c.Prompt }, []countedRow{
		{"at once", history(reader, at(0)), 1, nil},
		{"before the write was acknowledged", history(reader, at(-time.Millisecond)), 1, nil},
		{"at the last moment", history(reader, at(2*time.Second)), 1, nil},
		{"after another event", history(changed(reader, func(s *model.Stream) { s.RV = 9 }), behind(time.Second, 3*time.Second)), 1, nil},
		{"after the initial events", history(marked, append(block(3*time.Second), at(4*time.Second)...)), 1, nil},
		{"not due yet as the run ends", history(reader, nil, func(h *model.History) { h.End = 21 * second }), 0, nil},
		{"not due yet as the stream ends", history(changed(reader, func(s *model.Stream) { s.Closed, s.Reason = 21*second, model.ClosedByClient }), nil), 0, nil},
		{"part of the stream's start", history(reader, at(9*time.Second), func(h *model.History) { h.Streams[0].Return = 28 * second; h.Streams[0].Call = 28 * second }), 0,
			nil},
		{"a slow consumer", history(changed(reader, func(s *model.Stream) { s.Consumer = "slow" }), at(9*time.Second)), 0, nil},
		{"while something is wrong", history(reader, at(9*time.Second), func(h *model.History) {
			h.Faults = []model.Fault{{Name: "latency", Begin: 15 * second, End: 16 * second}}
		}), 0, nil},
		{"a write of unknown outcome", history(reader, at(9*time.Second), func(h *model.History) { h.Operations[0].Err, h.Operations[0].ResultRV = model.Unknown, 0 }), 0,
			nil},

		{"late", history(reader, at(2*time.Second+1)), 1, guarantees{linearizability.Prompt}},
		{"late after the initial events", history(marked, append(block(time.Second), at(3*time.Second+1)...)), 1, guarantees{linearizability.Prompt}},
		{"late after another event", history(changed(reader, func(s *model.Stream) { s.RV = 9 }), behind(time.Second, 3*time.Second+1)), 1,
			guarantees{linearizability.Prompt}},
		{"never, and the client cancelled", history(changed(reader, func(s *model.Stream) { s.Closed, s.Reason = 30*second, model.ClosedByClient }), nil), 1,
			guarantees{linearizability.Prompt, linearizability.Delivered}},
		{"never", history(reader, nil), 1, guarantees{linearizability.Prompt, linearizability.Delivered}},
	})
}
