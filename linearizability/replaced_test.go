package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestTwoCachesOfOneServer has evidence that a server's cache continued, which holds unless
// its storage was replaced meanwhile.
func TestTwoCachesOfOneServer(t *testing.T) {
	monotonic, expired, closed := guarantees{linearizability.Monotonic}, guarantees{linearizability.Expired}, guarantees{linearizability.Closed}
	older := func() *model.History {
		h := listHistory(listed(model.Operation{RV: 0}, 12, 7, 9))
		h.Streams = []model.Stream{seeing("c1", "s1", 11)}
		return h
	}
	held := func() *model.History {
		h := listHistory(acknowledged(), upcoming())
		h.Streams = []model.Stream{refused(model.Stream{RV: 11}, model.Expired, true), witnessing("s1", 11)}
		return h
	}
	ended := func() *model.History {
		h := listHistory(acknowledged(), upcoming())
		h.Streams = []model.Stream{witnessing("s1", 11),
			{ID: 9, Client: "c1", Server: "s1", RV: 11, Call: 500, Return: 501, Closed: 550, Reason: model.ClosedByServer}}
		return h
	}
	reached := func() *model.History {
		h := listHistory(acknowledged(), model.Operation{ID: 8, Kind: model.List, Client: "c1", Server: "s1", RV: 12, Err: model.TooLarge, Call: 500, Return: 510}, upcoming())
		h.Streams = []model.Stream{witnessing("s1", 11)}
		return h
	}
	for _, row := range []struct {
		name     string
		history  func() *model.History
		broken   guarantees
		from, by int64 // what shows it was called at, and had come by
	}{
		{"an older list", older, monotonic, 300, 510},
		{"from an RV that a witness proves held", held, expired, 440, 510},
		{"an end beside a stream that continued", ended, closed, 440, 550},
		{"an RV that the server had sent", reached, guarantees{linearizability.TooLarge}, 440, 500},
	} {
		for _, fault := range []struct {
			name   string
			fault  model.Fault
			broken guarantees
		}{
			{"no fault", model.Fault{}, row.broken},
			{"another fault", fault("watch-close", 450, 450, "s1"), row.broken},
			{"on another server", fault("storage-restart", 450, 450, "s2"), row.broken},
			{"before", fault("storage-restart", row.from-10, row.from-1, "s1"), row.broken},
			{"after", fault("storage-restart", row.by+300, row.by+301, "s1"), row.broken},
			{"when it began", fault("storage-restart", row.from-10, row.from, "s1"), nil},
			{"in between", fault("storage-restart", 450, 450, "s1"), nil},
		} {
			t.Run(row.name+", "+fault.name, func(t *testing.T) {
				h := row.history()
				if fault.fault.Name != "" {
					h.Faults = []model.Fault{fault.fault}
				}
				judge(t, h, fault.broken)
			})
		}
	}
}
