package explain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
)

// TestFacts adds one thing to a story and requires a sentence about it, which is true
// of the story by construction.
func TestFacts(t *testing.T) {
	z := states()[8]
	added := func(stream int, at int64) model.Event {
		return model.Event{Stream: stream, Time: at * ms, Type: model.Added, RV: 8, Object: &z}
	}
	inB := model.Scope{Namespace: "b"}
	for _, row := range []struct {
		name, guarantee string
		change          func(*model.History)
		says            string
		saysNot         string
	}{
		{"a later stream received the change with its initial events", "Reliable", func(h *model.History) {
			h.Streams = append(h.Streams, model.Stream{ID: 31, Client: "late", Server: "apiserver-1", Scope: inB, RV: 0, Call: 9000 * ms, Return: 9001 * ms, Closed: model.Pending,
				Events: []model.Event{added(31, 9002)}})
		}, "RV 8 was part of the initial events of streams opened later: stream 31 of client late on apiserver-1.", "did arrive on stream 31"},
		{"another open stream lost it too", "Reliable", func(h *model.History) {
			h.Streams = append(h.Streams, model.Stream{ID: 31, Client: "other", Server: "apiserver-0", Scope: inB, RV: 5, Call: 2800 * ms, Return: 2801 * ms, Closed: model.Pending})
		}, "RV 8 did not arrive on stream 31 of client other on apiserver-0.", ""},
		{"a stream ended before it could arrive", "Reliable", func(h *model.History) {
			h.Streams = append(h.Streams, model.Stream{ID: 31, Client: "brief", Server: "apiserver-0", Scope: inB, RV: 5, Call: 2800 * ms, Return: 2801 * ms, Closed: 4005 * ms, Reason: model.ClosedByClient})
		}, "RV 8 had not arrived on stream 31 of client brief on apiserver-0 (4.005s) when that ended.", ""},
		{"a stream that starts after it is not mentioned", "Reliable", func(h *model.History) {
			h.Streams = append(h.Streams, model.Stream{ID: 31, Client: "behind", Server: "apiserver-0", Scope: inB, RV: 9, Call: 9000 * ms, Return: 9001 * ms, Closed: model.Pending})
		}, "RV 8 did arrive on stream 23", "stream 31"},
		{"a stream with another scope is not mentioned", "Reliable", func(h *model.History) {
			h.Streams = append(h.Streams, model.Stream{ID: 31, Client: "elsewhere", Server: "apiserver-0", Scope: model.Scope{Namespace: "c"}, RV: 5, Call: 2800 * ms, Return: 2801 * ms, Closed: model.Pending})
		}, "RV 8 did arrive on stream 23", "stream 31"},
		{"ends on other servers are not mentioned", "Reliable", func(h *model.History) {
			stream(h, 21).Server, stream(h, 22).Server = "apiserver-1", "apiserver-1"
		}, "In the 10s before, apiserver-0 ended no stream: nothing shows that its cache reinitialised.", "Streams 21 and 22"},
		{"ends by clients are not mentioned", "Reliable", func(h *model.History) {
			stream(h, 21).Reason, stream(h, 22).Reason = model.ClosedByClient, model.ClosedByClient
		}, "In the 10s before, apiserver-0 ended no stream: nothing shows that its cache reinitialised.", "Streams 21 and 22"},
		{"other streams stayed open", "Reliable", func(h *model.History) { stream(h, 22).Reason, stream(h, 22).Closed = model.ClosedByClient, 2900*ms },
			"Stream 21 of apiserver-0 had ended at 2.500s, not closed by its client, while 1 other stayed open: the cache had not reinitialised.", ""},
		{"an active fault", "Reliable", func(h *model.History) { h.Faults[1].End = 9000 * ms },
			"At 5.013s these faults were active: partition from=etcd-0 to=apiserver-0 for=700ms (since 4.200s); shortly before: watch-break server=apiserver-0 (to 2.500s).", ""},
		{"no faults", "Reliable", func(h *model.History) { h.Faults = nil }, "The history has no faults.", ""},
		{"later faults", "Reliable", func(h *model.History) { h.Faults = []model.Fault{{Name: "reset", Begin: 9000 * ms, End: 9000 * ms}} },
			"At 5.013s no fault had begun yet.", "reset"},
		{"a compaction at an unknown time", "Reliable", func(h *model.History) { h.Truth.Compactions[0].Time = model.Pending },
			"etcd may have been compacted at RV 4, at an unknown time.", ""},
		{"a later compaction", "Reliable", func(h *model.History) { h.Truth.Compactions[0].Time = 6000 * ms }, "etcd had not been compacted yet.", ""},
		{"no compaction", "Reliable", func(h *model.History) { h.Truth.Compactions = nil }, "At 5.013s no fault was active", "compact"},
		{"no recorded writer", "Reliable", func(h *model.History) { operation(h, 6).Object.Value = "else"; operation(h, 6).Err = model.Unknown },
			"ADDED b/z at RV 8 (no recorded operation wrote it)", ""},
		{"a write without a response", "Reliable", func(h *model.History) { operation(h, 6).Return = model.Pending },
			"ADDED b/z at RV 8 (create by client writer-0, operation 6, 4.000s, without a response)", ""},
		{"a slow consumer", "Reliable", func(h *model.History) { stream(h, 25).Consumer = "slow" }, "It had a slow consumer.", ""},
		{"a late arrival", "Reliable", func(h *model.History) { put(stream(h, 25), 2, added(25, 5500)) }, "RV 8 arrived after that, at 5.500s.", "never arrived"},
		{"events after a refusal do not count", "TooLarge", func(h *model.History) { stream(h, 25).Events[3].Time = 8000 * ms },
			"Before that, apiserver-0 had sent up to RV 12 (MODIFIED at 6.011s, on stream 23); etcd's last revision in this run is 13.", ""},
		{"newest event before a refusal", "TooLarge", func(h *model.History) {
			refused := stream(h, 26)
			refused.RV, refused.Call = 7, 4500*ms
		}, "Before that, apiserver-0 had sent up to RV 8 (ADDED at 4.011s, on stream 23); from RV 7 to there, a cache must hold 1 change of the resource.", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := story()
			for _, twist := range twists {
				if twist.guarantee == row.guarantee {
					twist.inflict(h)
				}
			}
			row.change(h)
			said := strings.Join(explain.New(h).Explain(violationOf(t, h, row.guarantee)), "\n")
			require.Contains(t, said, row.says)
			if row.saysNot != "" {
				require.NotContains(t, said, row.saysNot)
			}
		})
	}
}
