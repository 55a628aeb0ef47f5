package linearizability_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

func TestAnswersComeInTime(t *testing.T) {
	const called = 20 * second
	answered := guarantees{linearizability.Answered}
	// A list at RV 0, answered after a while; etcd is at 15 by then, and ends at 20.
	list := func(after time.Duration, change func(*model.Operation)) func(*model.History) {
		return func(h *model.History) {
			op := model.Operation{ID: 7, Client: "r", Server: "s1", Kind: model.List, Call: called, Return: called + int64(after), Remaining: -1,
				ResultRV: 15, Objects: []model.Object{*objectAt(15), *objectAt(9)}}
			if change != nil {
				change(&op)
			}
			if op.Err != model.OK || op.Return == model.Pending {
				op.ResultRV, op.Objects = 0, nil
			}
			h.Operations = append(h.Operations, op)
		}
	}
	failed := func(code model.Code) func(*model.Operation) {
		return func(op *model.Operation) {
			if op.Err, op.Message = code, "it failed"; code == model.Unknown {
				op.Answer = model.StoreError
			}
		}
	}
	asking := func(rv int64, code model.Code) func(*model.Operation) {
		return func(op *model.Operation) {
			op.RV, op.Match, op.Err = rv, model.MatchNotOlderThan, code
			if rv > op.ResultRV {
				op.ResultRV = rv
			}
		}
	}
	opened := func(after time.Duration, code model.Code) func(*model.History) {
		return func(h *model.History) {
			s := model.Stream{ID: 9, Client: "c9", Server: "s1", RV: 15, Call: called, Return: called + int64(after), Err: code, Closed: model.Pending}
			if code != model.OK {
				s.Closed = s.Return
			}
			h.Streams = append(h.Streams, s)
		}
	}
	fault := func(begin, end int64) func(*model.History) {
		return func(h *model.History) {
			h.Faults = append(h.Faults, model.Fault{Name: "latency", Begin: begin * second, End: end * second})
		}
	}
	broke := func(h *model.History) {
		s := &h.Streams[0]
		s.Events = append(s.Events, model.Event{Stream: s.ID, Time: called, Type: model.Error, Err: model.Unknown, Answer: model.StoreError, Message: "etcdserver: no leader"})
		s.Closed, s.Reason = called, model.ClosedByError
	}
	history := func(changes ...func(*model.History)) *model.History {
		h := quietHistory(model.Stream{RV: 15}, 40)
		h.Streams[0].Call, h.Streams[0].Return, h.Steady = second, second, true
		for _, change := range changes {
			change(h)
		}
		return h
	}
	judgeCounted(t, func(c linearizability.Counts) int { return c.Answered }, []countedRow{
		{"at once", history(list(0, nil)), 1, nil},
		{"at the last moment", history(list(2*time.Second, nil)), 1, nil},
		{"pending when the run ends", history(list(0, func(op *model.Operation) { op.Call, op.Return = 39*second, model.Pending })), 1, nil},
		{"refused with 410", history(list(0, failed(model.Expired)), func(h *model.History) {
			h.Operations[0].RV, h.Operations[0].Match = 3, model.MatchExact
			h.Truth.Compactions = []model.Compaction{{RV: 4, Time: 10 * second}}
		}), 1, nil},
		{"waits for an RV that etcd has not reached", history(list(5*time.Second, asking(20, model.OK))), 1, nil},
		{"refused for an RV that etcd has not reached", history(list(3*time.Second, asking(20, model.TooLarge))), 1, nil},
		{"the client timed out", history(list(time.Second, func(op *model.Operation) { op.Err = model.Unknown })), 1, nil},
		{"a watch at once", history(opened(0, model.OK)), 1, nil},

		// Something was wrong.
		{"late in a fault", history(list(9*time.Second, nil), fault(19, 30)), 0, nil},
		{"late shortly after a fault", history(list(9*time.Second, nil), fault(14, 15)), 0, nil},
		{"late as a fault begins", history(list(9*time.Second, nil), fault(22, 23)), 0, nil},
		{"a failure between two faults", history(list(0, failed(model.Unknown)), fault(14, 15), fault(21, 22)), 0, nil},
		{"late after an election", history(list(9*time.Second, nil), func(h *model.History) {
			h.Leaders = []model.Leader{{Time: 0, Member: "etcd-0", Term: 2}, {Time: 16 * second, Member: "etcd-1", Term: 3}}
		}), 0, nil},
		{"a stream ended by an error of etcd shortly after a fault", history(broke, fault(14, 15)), 0, nil},
		{"late while goroutines are stalled", history(list(9*time.Second, nil), func(h *model.History) { h.Steady, h.Healed = false, 16*second }), 0, nil},
		{"while caches initialise", history(list(0, func(op *model.Operation) {
			failed(model.TooMany)(op)
			op.Call, op.Return = 1*second, 1*second
		})), 0, nil},

		{"late", history(list(2*time.Second+1, nil)), 1, answered},
		{"late long after a fault", history(list(9*time.Second, nil), fault(13, 14)), 1, answered},
		{"late long after the first election", history(list(9*time.Second, nil), func(h *model.History) { h.Leaders = []model.Leader{{Time: 0, Member: "etcd-0", Term: 2}} }), 1,
			answered},
		{"no response within the bound", history(list(5*time.Second, func(op *model.Operation) { op.Err = model.Unknown })), 1, answered},
		{"late long before a fault", history(list(9*time.Second, nil), fault(23, 24)), 1, answered},
		{"late after goroutines were stalled", history(list(9*time.Second, nil), func(h *model.History) { h.Steady, h.Healed = false, 14*second }), 1, answered},
		{"never", history(list(0, func(op *model.Operation) { op.Return = model.Pending })), 1, answered},
		{"with an unknown outcome", history(list(0, failed(model.Unknown))), 1, answered},
		{"rejected", history(list(0, failed(model.TooMany))), 1, answered},
		{"no connection", history(list(0, failed(model.Unavailable))), 1, answered},
		{"too large for an RV that etcd had reached", history(func(h *model.History) { h.Operations = append(h.Operations, wrote(19*second)) }, list(time.Second, asking(15, model.TooLarge))), 2,
			answered},
		{"too large without a requested RV", history(list(time.Second, asking(model.RVUnset, model.TooLarge))), 1, answered},
		{"an RV that etcd never reaches", history(list(6*time.Second, asking(20, model.TooLarge))), 1, answered},
		{"a stream ended by an error of etcd", history(broke), 0, guarantees{linearizability.Answered}},
		{"a watch late", history(opened(5*time.Second+1, model.OK)), 1, answered},
		{"a watch rejected", history(opened(0, model.TooMany)), 1, answered},
	})
}

func TestFirstEventsComeInTime(t *testing.T) {
	reader := model.Stream{RV: 12, Consumer: "fast"}
	marked := model.Stream{RV: model.RVUnset, Bookmarks: true, InitialEvents: true, Consumer: "fast"}
	at := func(after time.Duration, events ...model.Event) []model.Event {
		return cameAt(20*second+int64(after), events...)
	}
	block := func(after time.Duration) []model.Event {
		return at(after, added(15), added(9), initialEnd(15))
	}
	const opening = 1 // every stream is judged for its opening, too
	history := func(stream model.Stream, events ...model.Event) *model.History {
		h := quietHistory(stream, 40, events...)
		h.Streams[0].Call, h.Streams[0].Return, h.Steady = 20*second, 20*second, true
		h.Operations = []model.Operation{wrote(2 * second)}
		return h
	}
	judgeCounted(t, func(c linearizability.Counts) int { return c.Answered }, []countedRow{
		{"at once", history(reader, at(0, modified(15))...), opening + 1, nil},
		{"at the last moment", history(reader, at(2*time.Second, modified(15))...), opening + 1, nil},
		{"initial events at once", history(marked, block(0)...), opening + 1, nil},
		{"nothing to send yet", history(changed(reader, func(s *model.Stream) { s.RV = 15 })), opening, nil},
		{"nothing that matches", history(changed(reader, func(s *model.Stream) { s.Scope = model.Scope{Namespace: "b"} })), opening, nil},
		{"a slow consumer", history(changed(reader, func(s *model.Stream) { s.Consumer = "slow" }), at(9*time.Second, modified(15))...), opening, nil},
		{"stream ended before the event was due", history(changed(reader, func(s *model.Stream) { s.Closed, s.Reason = 21*second, model.ClosedByClient })), opening, nil},

		{"late", history(reader, at(2*time.Second+1, modified(15))...), opening + 1, guarantees{linearizability.Answered}},
		{"never", history(reader), opening + 1, guarantees{linearizability.Answered, linearizability.Delivered}},
		{"initial events late", history(marked, block(3*time.Second)...), opening + 1, guarantees{linearizability.Answered}},
	})
}

func TestMarginsAreTheSlowest(t *testing.T) {
	h := quietHistory(model.Stream{RV: 12, Consumer: "fast"}, 40, received(21, modified(15)))
	h.Operations, h.Steady = []model.Operation{wrote(20 * second)}, true
	require.Equal(t, []linearizability.Margin{
		{Guarantee: "Answered", Slowest: time.Second, Bound: 2 * time.Second},
		{Guarantee: "Prompt", Slowest: time.Second, Bound: 2 * time.Second},
	}, judge(t, h, nil).Margins)
}
