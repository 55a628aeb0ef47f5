package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestWhomAFaultDisturbs is a list of client c1 on server s1 that takes 9 s, and the event
// of a write that comes as late on c1's stream, while a fault acts on some processes. c2 and
// s2 are there as well.
func TestWhomAFaultDisturbs(t *testing.T) {
	for _, row := range []struct {
		fault     string
		processes []string
		disturbed bool
	}{
		{"latency", nil, true},
		{"apiserver-crash", []string{"s1"}, true},
		{"client-crash", []string{"c1"}, true},
		{"partition", []string{"c1", "s1"}, true},
		{"partition", []string{"s1", "etcd-0"}, true},
		{"partition", []string{"s1", "s2"}, true},
		{"partition", []string{"etcd-0", "etcd-1"}, true},
		{"partition", []string{"s2", "etcd-0", "etcd-1"}, true},
		{"slow-disk", []string{"etcd-0"}, true},
		{"stalled-consumer", []string{"c2"}, true},

		{"apiserver-crash", []string{"s2"}, false},
		{"client-crash", []string{"c2"}, false},
		{"partition", []string{"c1", "s2"}, false},
		{"partition", []string{"c2", "s1"}, false},
		{"partition", []string{"s2", "etcd-0"}, false},
	} {
		t.Run(model.Enumerate(append([]string{row.fault}, row.processes...)), func(t *testing.T) {
			h := quietHistory(model.Stream{RV: 12, Consumer: "fast"}, 60, received(29, modified(15)))
			slow := listed(model.Operation{RV: 0}, 15, 15, 9)
			slow.ID, slow.Client, slow.Server, slow.Call, slow.Return = 2, "c1", "s1", 20*second, 29*second
			other := model.Operation{ID: 3, Client: "c2", Server: "s2", Kind: model.List, Call: second, Return: second, Err: model.Unknown}
			h.Operations, h.Steady = []model.Operation{wrote(20 * second), slow, other}, true
			h.Faults = []model.Fault{fault(row.fault, 19*second, 30*second, row.processes...)}
			want := guarantees{linearizability.Answered, linearizability.Prompt}
			if row.disturbed {
				want = nil
			}
			judge(t, h, want)
		})
	}
}

// TestLongOutagesDisturbForLonger is a slow list that begins 13 s after etcd has a leader
// again, which it had not for a while.
func TestLongOutagesDisturbForLonger(t *testing.T) {
	for _, row := range []struct {
		name    string
		lost    []int64 // in seconds; the leader is back 1 s later, the last time at 15
		excused bool
	}{
		{"a short outage", []int64{10}, false},
		{"a long outage", []int64{1}, true},
		{"one outage after another", []int64{1, 5}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := quietHistory(model.Stream{RV: 12, Consumer: "fast"}, 60, received(29, modified(15)))
			slow := listed(model.Operation{RV: 0}, 15, 15, 9)
			slow.ID, slow.Client, slow.Server, slow.Call, slow.Return = 2, "c1", "s1", 28*second, 37*second
			h.Operations, h.Steady = []model.Operation{slow}, true
			for i, lost := range row.lost {
				back := (lost + 1) * second
				if i == len(row.lost)-1 {
					back = 15 * second
				}
				h.Leaders = append(h.Leaders, model.Leader{Time: lost * second}, model.Leader{Time: back, Member: "etcd-0", Term: 2})
			}
			want := guarantees{linearizability.Answered}
			if row.excused {
				want = nil
			}
			judge(t, h, want)
		})
	}
}
