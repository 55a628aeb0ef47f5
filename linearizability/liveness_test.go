package linearizability_test

import (
	"cmp"
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

func TestOpenStreamsHaveEverythingAtTheEnd(t *testing.T) {
	all := []model.Event{deleted(12), modified(15)}
	late := all[:1]
	const healed, bound, flow = int64(4000), int64(5_000_000_000), int64(2_000_000_000)
	lateAt := func(time int64) []model.Event {
		event := deleted(12)
		event.Time = time
		return []model.Event{event}
	}
	broken := guarantees{linearizability.Delivered}
	history := func(request model.Stream, end int64, ops ...model.Operation) *model.History {
		h := closedStream(request, request.Events...)
		s := &h.Streams[0]
		s.RV, s.Closed, s.Return = cmp.Or(request.RV, 11), cmp.Or(request.Closed, model.Pending), cmp.Or(request.Return, s.Return)
		h.Operations, h.Healed, h.End = ops, healed, end
		return h
	}
	judgeCounted(t, func(c linearizability.Counts) int { return c.Delivered }, []countedRow{
		{"everything", history(model.Stream{Events: all}, healed+bound), 1, nil},
		{"a start in the future", history(model.Stream{RV: 100}, healed+bound), 1, nil},
		{"no time to catch up", history(model.Stream{Events: late}, healed+bound-1), 0, nil},
		{"opened late", history(model.Stream{Events: late, Return: healed + 1}, healed+bound), 0, nil},
		{"writes until the end", history(model.Stream{Events: late}, healed+bound, acknowledgedAt(healed+1)), 0, nil},
		{"stalled", history(model.Stream{Events: late, Consumer: "stalled"}, healed+bound), 0, nil},
		{"slow", history(model.Stream{Events: late, Consumer: "slow"}, healed+bound), 0, nil},
		{"closed", history(model.Stream{Events: late, Closed: 3900}, healed+bound), 0, nil},
		{"cancelled early", history(model.Stream{Events: late, Closed: healed + bound - 1, Reason: model.ClosedByClient}, healed+2*bound), 0, nil},
		{"ended by the server", history(model.Stream{Events: late, Closed: healed + bound, Timeout: 1, Reason: model.ClosedByServer}, healed+2*bound), 0, nil},
		{"cancelled with everything", history(model.Stream{Events: all, Closed: healed + bound, Reason: model.ClosedByClient}, healed+2*bound), 1, nil},
		{"failed", history(model.Stream{Events: append(late[:1:1], failure(model.Unknown))}, healed+bound), 0, nil},

		{"events until the end", history(model.Stream{Events: lateAt(healed + bound - flow + 1)}, healed+bound), 0, nil},
		{"events until shortly before the end", history(model.Stream{Events: lateAt(healed + bound - flow)}, healed+bound), 1, broken},
		{"one missing", history(model.Stream{Events: late}, healed+bound), 1, broken},
		{"cancelled with one missing", history(model.Stream{Events: late, Closed: healed + bound, Reason: model.ClosedByClient}, healed+2*bound), 1, broken},
		{"all missing", history(model.Stream{Consumer: "fast"}, healed+bound), 1, broken},
		{"an incomplete block", history(model.Stream{RV: model.RVUnset, Events: []model.Event{added(15)}}, healed+bound), 1, broken},
		{"no mark of the initial events", history(model.Stream{RV: model.RVUnset, InitialEvents: true, Bookmarks: true, Events: []model.Event{added(15), added(9)}}, healed+bound), 1,
			guarantees{linearizability.InitialEnd}},
	})
}

// TestInformersThatAreStillFed has an empty informer whose initial events still arrive.
func TestInformersThatAreStillFed(t *testing.T) {
	for client, broken := range map[string]guarantees{"c1": nil, "i1": {linearizability.Converged}} {
		h := closedStream(model.Stream{RV: model.RVUnset, InitialEvents: true, Bookmarks: true}, added(15))
		stream := &h.Streams[0]
		h.Informers = []model.Informer{{Client: client, Server: "s1"}}
		h.End, stream.Closed, stream.Events[0].Time = 5_000_004_000, model.Pending, 5_000_000_000
		judge(t, h, broken)
	}
}

// acknowledgedAt returns a delete without effect: it found nothing to delete.
func acknowledgedAt(returned int64) model.Operation {
	return model.Operation{ID: 1, Client: "c2", Kind: model.Delete, Call: returned - 1, Return: returned, Err: model.NotFound,
		Scope: model.Scope{Namespace: "c", Name: "none"}}
}

func TestInformersConverge(t *testing.T) {
	broken := guarantees{linearizability.Converged}
	informer := func(scope model.Scope, rv int64, objects ...int64) model.Informer {
		i := model.Informer{Client: "i1", Server: "s1", Scope: scope, LastSyncRV: rv}
		for _, rv := range objects {
			i.Objects = append(i.Objects, *objectAt(rv))
		}
		return i
	}
	history := func(i model.Informer) *model.History {
		return &model.History{Truth: shortTruth(), Informers: []model.Informer{i}, End: 5 * second}
	}
	all := model.Scope{}
	judgeEach(t, []historyRow[model.Informer]{
		{"everything", informer(all, 15, 15, 9), nil},
		{"in any order", informer(all, 15, 9, 15), nil},
		{"within its scope", informer(model.Scope{Namespace: "a"}, 15, 15), nil},
		{"at the last change to its scope", informer(model.Scope{Namespace: "b"}, 9, 9), nil},
		{"at the RV of a bookmark", informer(all, 20, 15, 9), nil},
		{"at an unknown RV", informer(all, 0, 15, 9), nil},

		{"one missing", informer(all, 15, 9), broken},
		{"a deleted object", informer(all, 15, 15, 4, 9), broken},
		{"a stale object", informer(all, 15, 7, 9), broken},
		{"at an RV below its state", informer(all, 14, 15, 9), broken},
		{"at an RV below the last deletion in its scope", informer(model.Scope{Namespace: "a", Name: "y"}, 11), broken},
		{"at an RV ahead of etcd", informer(all, 21, 15, 9), broken},
	}, history)
	early := history(informer(all, 15))
	early.End--
	judge(t, early, nil) // no time to converge
}
