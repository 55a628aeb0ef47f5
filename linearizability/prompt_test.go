package linearizability_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	none := func(*model.History) {}
	for _, row := range []struct {
		name   string
		stream model.Stream
		events []model.Event
		change func(*model.History)
		judged int
		broken guarantees
	}{
		{"at once", reader, at(0), none, 1, nil},
		{"before the write was acknowledged", reader, at(-time.Millisecond), none, 1, nil},
		{"at the last moment", reader, at(2 * time.Second), none, 1, nil},
		{"after another event", changed(reader, func(s *model.Stream) { s.RV = 9 }), behind(time.Second, 3*time.Second), none, 1, nil},
		{"after the initial events", marked, append(block(3*time.Second), at(4*time.Second)...), none, 1, nil},
		{"not due yet as the run ends", reader, nil, func(h *model.History) { h.End = 21 * second }, 0, nil},
		{"not due yet as the stream ends", changed(reader, func(s *model.Stream) { s.Closed, s.Reason = 21*second, model.ClosedByClient }), nil, none, 0, nil},
		{"part of the stream's start", reader, at(9 * time.Second), func(h *model.History) { h.Streams[0].Return = 28 * second; h.Streams[0].Call = 28 * second }, 0, nil},
		{"a slow consumer", changed(reader, func(s *model.Stream) { s.Consumer = "slow" }), at(9 * time.Second), none, 0, nil},
		{"while something is wrong", reader, at(9 * time.Second), func(h *model.History) {
			h.Faults = []model.Fault{{Name: "latency", Begin: 15 * second, End: 16 * second}}
		}, 0, nil},
		{"a write of unknown outcome", reader, at(9 * time.Second), func(h *model.History) { h.Operations[0].Err, h.Operations[0].ResultRV = model.Unknown, 0 }, 0, nil},

		{"late", reader, at(2*time.Second + 1), none, 1, guarantees{linearizability.Prompt}},
		{"late after the initial events", marked, append(block(time.Second), at(3*time.Second+1)...), none, 1, guarantees{linearizability.Prompt}},
		{"late after another event", changed(reader, func(s *model.Stream) { s.RV = 9 }), behind(time.Second, 3*time.Second+1), none, 1, guarantees{linearizability.Prompt}},
		{"never, and the client cancelled", changed(reader, func(s *model.Stream) { s.Closed, s.Reason = 30*second, model.ClosedByClient }), nil, none, 1,
			guarantees{linearizability.Prompt, linearizability.Delivered}},
		{"never", reader, nil, none, 1, guarantees{linearizability.Prompt, linearizability.Delivered}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := quietHistory(row.stream, 40, row.events...)
			h.Operations, h.Steady = []model.Operation{wrote(20 * second)}, true
			row.change(h)
			require.Equal(t, row.judged, judge(t, h, row.broken).Counts.Prompt)
		})
	}
}
