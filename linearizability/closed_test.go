package linearizability_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// fault is one that acted on some processes between two times.
func fault(name string, begin, end int64, processes ...string) model.Fault {
	return model.Fault{Name: name, Begin: begin, End: end, Processes: processes}
}

// TestEndsOfStreams has a stream of client c1 on server s1, open from 500 to 550. etcd
// was at revision 14 at most all that time.
func TestEndsOfStreams(t *testing.T) {
	broken := guarantees{linearizability.Closed}
	server, connection, client := model.ClosedByServer, model.ClosedByReset, model.ClosedByClient
	late := witnessing("s1", 11)
	late.Return = 500
	uncached := witnessing("s1", model.RVUnset)
	uncached.Events = append(cameAt(445, added(4), added(7), added(9)), uncached.Events...)
	failed := []model.Event{came(510, deleted(12)), came(540, failure(model.Unknown))}
	partial := model.Stream{ID: 3, Client: "c3", Server: "s1", RV: 0, Call: 440, Return: 441, Closed: 700,
		Events: []model.Event{came(650, added(15))}}
	nobody, lost := model.Stream{}, []model.Fault{fault("watch-break", 450, 450, "s1")}
	history := func(s, other model.Stream, faults ...model.Fault) *model.History {
		h := listHistory(acknowledged(), upcoming())
		s.ID, s.Client, s.Server, s.RV, s.Call, s.Return, s.Closed = 9, "c1", "s1", 11, 500, 501, 550
		h.Streams, h.Faults = present(s, other), faults
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"cancelled", history(model.Stream{Reason: client}, witnessing("s1", 11)), nil},
		{"for an unrecorded reason", history(model.Stream{}, witnessing("s1", 11)), nil},
		{"at its timeout", history(model.Stream{Reason: server, Timeout: 50}, witnessing("s1", 11)), nil},
		{"after its watch on etcd broke", history(model.Stream{Reason: server}, nobody, lost...), nil},
		{"long after etcd was down: the cache may notice late", history(model.Stream{Reason: server}, nobody, fault("etcd-crash", 10, 20, "etcd-0")), nil},
		{"after a partition from etcd", history(model.Stream{Reason: server}, nobody, fault("partition", 450, 520, "s1", "etcd-0")), nil},
		{"after a fault without processes", history(model.Stream{Reason: server}, nobody, fault("gremlins", 450, 450)), nil},
		{"although a stream of another server continued", history(model.Stream{Reason: server}, witnessing("s2", 11), lost...), nil},
		{"although a stream continued that may have begun after it", history(model.Stream{Reason: server}, late, lost...), nil},
		{"although a stream continued that etcd may have served", history(model.Stream{Reason: server}, uncached, lost...), nil},
		{"although initial events arrived later that were taken at an unknown time", history(model.Stream{Reason: server}, partial, lost...), nil},
		{"cut by a reset", history(model.Stream{Reason: connection}, witnessing("s1", 11), fault("reset", 540, 540, "s1", "c1")), nil},
		{"cut by a crash", history(model.Stream{Reason: connection}, nobody, fault("apiserver-crash", 530, 900, "s1")), nil},
		{"cut by the client's own end", history(model.Stream{Reason: connection}, witnessing("s1", 11), fault("client-crash", 530, 900, "c1")), nil},
		{"cut, and noticed late by a slow consumer", history(model.Stream{Reason: connection, Consumer: "slow"}, nobody, fault("black-hole", 400, 505, "c1", "s1")), nil},

		{"without a reason", history(model.Stream{Reason: server}, nobody), broken},
		{"with an error, without a reason", history(model.Stream{Reason: model.ClosedByError, Events: failed}, nobody), broken},
		{"with an error, after which the client closed it", history(model.Stream{Reason: client, Events: failed}, nobody), broken},
		{"with an error before the fault, after which the client closed it", history(model.Stream{Reason: client, Events: failed}, nobody, fault("watch-break", 545, 545, "s1")),
			broken},
		{"before its timeout", history(model.Stream{Reason: server, Timeout: 51}, nobody), broken},
		{"although the cache continued", history(model.Stream{Reason: server}, witnessing("s1", 11), lost...), broken},
		{"although the cache continued since the last event", history(model.Stream{Reason: server, Events: failed[:1]}, witnessing("s1", 11), lost...), broken},
		{"after a fault of another server", history(model.Stream{Reason: server}, witnessing("s2", 11), fault("watch-break", 450, 450, "s2")), broken},
		{"after a fault between its two ends", history(model.Stream{Reason: server}, nobody, fault("partition", 450, 520, "c1", "s1")), broken},
		{"of a slow consumer without queued events", history(model.Stream{Reason: server, Consumer: "slow"}, nobody, fault("slow-consumer", 450, 900, "c1")), broken},
		{"before the fault", history(model.Stream{Reason: server}, nobody, fault("watch-break", 551, 551, "s1")), broken},
		{"cut without a fault", history(model.Stream{Reason: connection}, nobody), broken},
		{"cut by a fault between other processes", history(model.Stream{Reason: connection}, witnessing("s1", 11), fault("reset", 540, 540, "s1", "c3"), fault("reset", 540, 540, "s1", "etcd-0")),
			broken},
		{"cut by a fault that was over before it", history(model.Stream{Reason: connection}, nobody, fault("reset", 499, 499, "s1", "c1")), broken},
	})
}

// creations returns a truth in which each revision from 2 to the last one creates an object.
func creations(last int64) model.Truth {
	truth := model.Truth{Revision: last}
	for rv := int64(2); rv <= last; rv++ {
		truth.Changes = append(truth.Changes, model.Change{RV: rv, Object: model.Object{Name: fmt.Sprint("o", rv), Value: fmt.Sprint("v", rv)}})
	}
	return truth
}

// TestEndOfAConsumerThatFellBehind has a stream that its server ended while a number of
// committed changes had not been delivered.
func TestEndOfAConsumerThatFellBehind(t *testing.T) {
	history := func(changes int, stream model.Stream) *model.History {
		stream.ID, stream.Client, stream.Server, stream.RV, stream.Reason, stream.Closed = 1, "c1", "s1", 1, model.ClosedByServer, 5000
		return &model.History{Truth: creations(int64(changes) + 1), Streams: []model.Stream{stream}, Healed: 1e12, End: 1e12}
	}
	const backlog = linearizability.MinBacklog
	judgeAll(t, []historyRow[*model.History]{
		{"a full queue", history(backlog, model.Stream{}), nil},
		{"bookmarks wait as well", history(backlog-3, model.Stream{Bookmarks: true}), nil},
		{"room in the queue", history(backlog-1, model.Stream{}), guarantees{linearizability.Closed}},
		{"room in the queue, bookmarks included", history(backlog-4, model.Stream{Bookmarks: true}), guarantees{linearizability.Closed}},
	})

	h := history(backlog-1, model.Stream{})
	config := lenient()
	config.Window = backlog - 1
	require.Empty(t, linearizability.Check(h, config).Violations, "a cache that forgets sooner may end the watch sooner")
	h = history(backlog-1, model.Stream{})
	h.Streams[0].Closed = linearizability.MinStreamTimeout.Nanoseconds()
	judge(t, h, nil) // a server ends a stream of that age unasked
}

// TestWhatArrivedHasLeftTheQueue is a stream that brought a change committed
// after it opened. What was dispatched before that cannot be waiting any more.
func TestWhatArrivedHasLeftTheQueue(t *testing.T) {
	history := func(last int64) *model.History {
		h := &model.History{Truth: creations(24), Healed: 1e12, End: 1e12}
		stream := model.Stream{ID: 1, Client: "c1", Server: "s1", RV: 1, Call: 5, Return: 6, Closed: 5000, Reason: model.ClosedByServer}
		for change := range model.Each(h.Truth.Changes) {
			rv, object := change.RV, change.Object
			h.Operations = append(h.Operations, model.Operation{ID: int(rv), Client: "c2", Server: "s1", Kind: model.Create, Object: &change.Object,
				Call: 10 * rv, Return: 10*rv + 5, ResultRV: rv, Scope: model.Scope{Name: object.Name}})
			if object.RV = rv; rv <= last {
				stream.Events = append(stream.Events, model.Event{Stream: 1, Time: 10*rv + 9, Type: model.Added, RV: rv, Object: &object})
			}
		}
		h.Streams = []model.Stream{stream}
		return h
	}
	judge(t, history(14), nil)
	judge(t, history(15), guarantees{linearizability.Closed})

	// A server that gives up a consumer which waits for the end of its initial
	// events may deliver what is in the queue first.
	marked := func(time int64) *model.History {
		h := history(19)
		s := &h.Streams[0]
		s.RV, s.InitialEvents, s.Bookmarks = 0, true, true
		s.Events = append([]model.Event{{Stream: 1, Time: 7, Type: model.Bookmark, RV: 1, InitialEnd: true}}, s.Events...)
		for i := range s.Events {
			s.Events[i].Time = max(s.Events[i].Time, time)
		}
		return h
	}
	judge(t, marked(7), guarantees{linearizability.Closed})
	judge(t, marked(198), nil)
}

// TestASurvivorNeedOnlyBeAsOldAsTheLastEvent is a stream that brought a change
// made at 520, and so cannot have ended before: another one that began at 505
// and went on shows that the cache did.
func TestASurvivorNeedOnlyBeAsOldAsTheLastEvent(t *testing.T) {
	history := func(called int64) *model.History {
		made := acknowledged()
		made.Call, made.Return = called, 530
		h := listHistory(made, upcoming())
		survivor := witnessing("s1", 11)
		survivor.Call, survivor.Return, survivor.Events[0].Time = 504, 505, 541
		h.Streams = []model.Stream{{ID: 9, Client: "c1", Server: "s1", RV: 11, Call: 500, Return: 501, Closed: 550, Reason: model.ClosedByServer,
			Events: []model.Event{came(540, deleted(12))}}, survivor}
		h.Faults = []model.Fault{fault("watch-break", 450, 450, "s1")}
		return h
	}
	judge(t, history(520), guarantees{linearizability.Closed})
	judge(t, history(505), nil)
}

// TestEndsWithoutAFault has what makes a cache relist without a fault. API servers compact etcd
// themselves, and a cache whose watch on etcd is behind the compaction must relist. And etcd
// ends the watches of caches when it has lost its leader, as by a stall.
func TestEndsWithoutAFault(t *testing.T) {
	closed := guarantees{linearizability.Closed}
	compacted := func(time int64) func(*model.History) {
		return func(h *model.History) { h.Truth.Compactions = []model.Compaction{{RV: 3, Time: time}} }
	}
	led := func(leaders ...model.Leader) func(*model.History) {
		return func(h *model.History) { h.Leaders = leaders }
	}
	first, alone := model.Leader{Member: "etcd-0", Term: 1}, model.Leader{Member: "etcd-0", Term: 1, Leaderless: 1}
	at := func(time int64, leader model.Leader) model.Leader { leader.Time = time; return leader }
	judgeChanges(t, func() *model.History { return closedStream(model.Stream{RV: 11, Reason: model.ClosedByServer}) }, []historyRow[func(*model.History)]{
		{"after a compaction", compacted(2999), nil},
		{"after the leader was lost", led(first, model.Leader{Time: 2999}), nil},
		{"after one member lost the leader", led(first, at(2999, alone)), nil},
		{"after one member had no leader for long", led(alone, at(second, first)), nil},

		{"after nothing", func(*model.History) {}, closed},
		{"before a compaction", compacted(3001), closed},
		{"before the leader was lost", led(first, model.Leader{Time: 3001}), closed},
		{"after the first election", led(model.Leader{}, at(5, first)), closed},
		{"after a change of leader", led(first, model.Leader{Time: 2999, Member: "etcd-1", Term: 2}), closed},
		{"after one member had no leader at first", led(alone, at(5, first)), closed},
	})
}
