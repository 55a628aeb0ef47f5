package linearizability_test

import (
	"slices"
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestWhatCachesHeld has a watch from RV 9 that is called at 18 s, and refused or ended at
// 20 s, on a server whose cache reinitialised at 10 s, because its watch broke, and dropped
// everything up to RV 7.
func TestWhatCachesHeld(t *testing.T) {
	refused := func(code model.Code) func(*model.Stream) {
		return func(s *model.Stream) { refuse(s, code); s.Return, s.Closed = 20*second, 20*second }
	}
	ended := func(reason model.CloseReason, events ...model.Event) func(*model.Stream) {
		return func(s *model.Stream) { s.Reason, s.Events = reason, events }
	}
	gone, closed := refused(model.Expired), ended(model.ClosedByServer)
	window := func(at int64, server string, filling int, since int64) func(*model.History) {
		return func(h *model.History) {
			h.Windows = append(h.Windows, model.CacheWindow{Time: at * second, Server: server, Filling: filling, Since: since, Newest: 15 * int64(min(filling, 1))})
			slices.SortFunc(h.Windows, func(a, b model.CacheWindow) int { return int(a.Time - b.Time) })
		}
	}
	expired, wrong := guarantees{linearizability.Expired}, guarantees{linearizability.Closed}
	history := func(end func(*model.Stream), change func(*model.History)) *model.History {
		h := quietHistory(model.Stream{RV: 9}, 40)
		s := &h.Streams[0]
		s.Call, s.Return, s.Closed = 18*second, 18*second, 20*second
		end(s)
		h.Faults = []model.Fault{fault("watch-break", 9*second, 9*second, "s1")}
		window(10, "s1", 2, 7)(h)
		change(h)
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"refused, and dropped by the time of the response", history(gone, window(19, "s1", 2, 10)), nil},
		{"refused, and dropped before a late sample", history(gone, window(25, "s1", 2, 10)), nil},
		{"refused while the cache reinitialised", history(gone, window(19, "s1", 3, 7)), nil},
		{"refused while the server was down", history(gone, window(19, "s1", 0, 0)), nil},
		{"refused just before the server was seen down", history(gone, window(24, "s1", 0, 0)), nil},
		{"refused, without samples", history(gone, func(h *model.History) { h.Windows = nil }), nil},
		{"refused by a cache that had just initialised", history(gone, func(h *model.History) { h.Windows[0].Time = 14 * second }), nil},
		{"refused as the run ends", history(gone, func(h *model.History) { h.End = 24 * second }), nil},
		{"ended as the cache reinitialised", history(closed, window(19, "s1", 3, 7)), nil},
		{"ended as the server stopped", history(closed, window(23, "s1", 0, 0)), nil},
		{"ended, without samples", history(closed, func(h *model.History) { h.Windows = nil }), nil},
		{"ended by the client", history(ended(model.ClosedByClient), func(*model.History) {}), nil},
		{"ended, and etcd may have served it", history(closed, func(h *model.History) { h.Streams[0].RV = model.RVUnset }), nil},
		{"ended at its timeout", history(closed, func(h *model.History) { h.Streams[0].Timeout = 2 * second }), nil},

		{"refused an RV that was held", history(gone, func(*model.History) {}), expired},
		{"refused the oldest RV that was held", history(gone, window(19, "s1", 2, 9)), expired},
		{"refused, and dropped later", history(gone, window(26, "s1", 2, 10)), expired},
		{"refused while another cache initialised", history(gone, window(19, "s2", 3, 7)), expired},
		{"refused by an event", history(ended(model.ClosedByError, received(20, failure(model.Expired))), func(*model.History) {}), expired},
		{"ended without a reason", history(closed, func(*model.History) {}), wrong},
		{"ended by an error without a reason", history(ended(model.ClosedByError, received(19, deleted(12)), received(20, failure(model.Unknown))), func(*model.History) {}),
			wrong},
		{"ended while the cache kept dropping changes", history(closed, window(19, "s1", 2, 10)), wrong},
		{"ended long before the cache reinitialised", history(closed, window(26, "s1", 3, 7)), wrong},
	})
}
