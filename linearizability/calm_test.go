package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestWhomAFaultDisturbs has a list of client c1 on server s1 that takes 9 s, and an event on
// c1's stream that is as late, during a fault on some processes. There are also c2 and
// s2.
func TestWhomAFaultDisturbs(t *testing.T) {
	late := guarantees{linearizability.Answered, linearizability.Prompt}
	for _, row := range []struct {
		fault     string
		processes []string
		broken    guarantees
	}{
		{"latency", nil, nil},
		{"apiserver-crash", []string{"s1"}, nil},
		{"client-crash", []string{"c1"}, nil},
		{"partition", []string{"c1", "s1"}, nil},
		{"partition", []string{"s1", "etcd-0"}, nil},
		{"partition", []string{"s1", "s2"}, nil},
		{"partition", []string{"etcd-0", "etcd-1"}, nil},
		{"partition", []string{"s2", "etcd-0", "etcd-1"}, nil},
		{"slow-disk", []string{"etcd-0"}, nil},
		{"stalled-consumer", []string{"c2"}, nil},

		{"apiserver-crash", []string{"s2"}, late},
		{"client-crash", []string{"c2"}, late},
		{"partition", []string{"c1", "s2"}, late},
		{"partition", []string{"c2", "s1"}, late},
		{"partition", []string{"s2", "etcd-0"}, late},
	} {
		t.Run(model.Enumerate(append([]string{row.fault}, row.processes...)), func(t *testing.T) {
			h := quietHistory(model.Stream{RV: 12, Consumer: "fast"}, 60, received(29, modified(15)))
			slow := listed(model.Operation{ID: 2, Call: 20 * second, Return: 29 * second}, 15, 15, 9)
			other := model.Operation{ID: 3, Client: "c2", Server: "s2", Kind: model.List, Call: second, Return: second, Err: model.Unknown}
			h.Operations, h.Steady = []model.Operation{wrote(20 * second), slow, other}, true
			h.Faults = []model.Fault{fault(row.fault, 19*second, 30*second, row.processes...)}
			judge(t, h, row.broken)
		})
	}
}

// TestLongOutagesDisturbForLonger has a slow list that begins 13 s after etcd has a leader
// again.
func TestLongOutagesDisturbForLonger(t *testing.T) {
	history := func(lost ...int64) *model.History { // in seconds; the leader is back 1 s later, the last time at 15
		h := quietHistory(model.Stream{RV: 12, Consumer: "fast"}, 60, received(29, modified(15)))
		h.Operations, h.Steady = []model.Operation{listed(model.Operation{ID: 2, Call: 28 * second, Return: 37 * second}, 15, 15, 9)}, true
		for i, at := range lost {
			back := (at + 1) * second
			if i == len(lost)-1 {
				back = 15 * second
			}
			h.Leaders = append(h.Leaders, model.Leader{Time: at * second}, model.Leader{Time: back, Member: "etcd-0", Term: 2})
		}
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"a short outage", history(10), guarantees{linearizability.Answered}},
		{"a long outage", history(1), nil},
		{"consecutive outages", history(1, 5), nil},
	})
}
