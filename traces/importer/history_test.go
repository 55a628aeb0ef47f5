package importer

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/judge"
)

// The tests below make small recordings: op and stream make what a source adds, and
// objects are named by one letter, their RV, and a content.

func object(name string, rv int64, content string) *model.Object {
	o := &model.Object{Namespace: "default", Name: name, UID: "uid-" + name, RV: rv}
	if content != "" {
		o.Value = "json:" + content
	}
	return o
}

func list(server string, at, rv, result int64, objects ...*model.Object) model.Operation {
	op := model.Operation{Client: "c", Server: server, Kind: model.List, Call: at, Return: at + 1, RV: rv, ResultRV: result, Remaining: -1}
	for _, o := range objects {
		op.Objects = append(op.Objects, *o)
	}
	return op
}

func write(kind model.Kind, at, before, after int64, o *model.Object) model.Operation {
	op := model.Operation{Client: "w", Server: "a", Kind: kind, Call: at, Return: at + 1, Scope: model.Scope{Namespace: "default", Name: o.Name},
		Object: &model.Object{Namespace: "default", Name: o.Name}, Precondition: before, ResultRV: after}
	if kind != model.Delete {
		op.Objects = []model.Object{*o}
	}
	return op
}

func refused(at int64, kind model.Kind, code model.Code) model.Operation {
	op := write(kind, at, 0, 0, object("x", 0, ""))
	op.Err, op.Objects = code, nil
	return op
}

func get(at int64, o *model.Object) model.Operation {
	return model.Operation{Client: "c", Server: "a", Kind: model.Get, Call: at, Return: at + 1, RV: -1,
		Scope: model.Scope{Namespace: "default", Name: o.Name}, ResultRV: o.RV, Objects: []model.Object{*o}}
}

func onB(op model.Operation) model.Operation {
	op.Server = "b"
	return op
}

func event(kind model.EventType, at int64, o *model.Object) model.Event {
	if kind == model.Bookmark {
		return model.Event{Type: kind, Time: at, RV: o.RV}
	}
	return model.Event{Type: kind, Time: at, RV: o.RV, Object: o}
}

func stream(server string, at, rv int64, events ...model.Event) model.Stream {
	return model.Stream{Client: "s", Server: server, Call: at, Return: at, RV: rv, Bookmarks: true, Closed: model.Pending, Events: events}
}

// streaming returns an empty streaming list, at a revision, and its later events.
func streaming(at, rv int64, events ...model.Event) model.Stream {
	end := model.Event{Type: model.Bookmark, Time: at, RV: rv, InitialEnd: true}
	s := stream("a", at, model.RVUnset, append([]model.Event{end}, events...)...)
	s.InitialEvents = true
	return s
}

// again returns an object recreated under the same name.
func again(o *model.Object) *model.Object {
	o.UID += "-again"
	return o
}

// labelled sets the label that selects selects by.
func labelled(o *model.Object) *model.Object {
	o.Labels = map[string]string{"k": "v"}
	return o
}

func selects(op model.Operation) model.Operation {
	op.Selector.Labels = map[string]string{"k": "v"}
	return op
}

// with changes a request.
func with(op model.Operation, change func(*model.Operation)) model.Operation {
	change(&op)
	return op
}

// committed returns the whole output of etcd, with objects at their RVs, and deletion one that is deleted.
func committed(changes ...model.Change) etcdPart {
	return etcdPart{To: changes[len(changes)-1].RV, State: true, Changes: changes}
}

func change(o *model.Object) model.Change { return model.Change{RV: o.RV, Object: *o} }

func deletion(o *model.Object) model.Change { return model.Change{RV: o.RV, Deleted: true, Object: *o} }

// leftOut is why a request is omitted from a recording.
type leftOut string

// recording adds everything to one.
func recording(t *testing.T, parts ...any) *Recording {
	t.Helper()
	r := &Recording{Resource: "pods"}
	for _, part := range parts {
		var err error
		switch part := part.(type) {
		case model.Operation:
			_, err = r.AddOperation(part)
		case model.Stream:
			err = r.AddStream(part, false)
		case etcdPart:
			err = r.addEtcd(part)
		case leftOut:
			r.Omit(string(part))
		}
		require.NoError(t, err)
	}
	return r
}

func judged(t *testing.T, r *Recording) (*model.History, judge.Verdict) {
	t.Helper()
	_, h, err := r.History(HistoryOptions{})
	require.NoError(t, err)
	return h, judge.RealCluster(h)
}

const (
	added, modified, deleted, bookmark = model.Added, model.Modified, model.Deleted, model.Bookmark
)

// TestNobodyIsAccusedOfWhatNobodySaw has recordings of correct servers, of which each
// source observed only a part. There must be no false positives.
func TestNobodyIsAccusedOfWhatNobodySaw(t *testing.T) {
	for name, parts := range map[string][]any{
		"a modified object that was not observed before": {
			stream("a", 1, 10, event(modified, 5, object("x", 20, "2")))},
		"a deletion of an object that was not observed before": {
			stream("a", 1, 10, event(deleted, 5, object("x", 20, "1")))},
		"deleted between two lists": {
			list("a", 1, 0, 10, object("x", 5, "1")), list("a", 3, 0, 20)},
		"deleted and recreated between two lists": {
			list("a", 1, 0, 10, object("x", 5, "1")), list("a", 3, 0, 20), list("a", 5, 0, 30, object("x", 25, "2"))},
		"deleted while a stream of another scope was open": {
			list("a", 1, 0, 10, object("x", 5, "1")), stream("a", 2, 15, event(bookmark, 3, object("", 30, ""))), list("a", 4, 0, 30)},
		"absent from the second of two lists with a selector": {
			selects(list("a", 1, 0, 10, labelled(object("x", 5, "1")))), selects(list("a", 3, 0, 20))},
		"absent between two lists with a selector": {
			selects(list("a", 1, 0, 10, labelled(object("x", 5, "1")))), selects(list("a", 3, 0, 20)),
			write(model.Create, 5, 0, 25, &model.Object{Namespace: "default", Name: "x", UID: "other", RV: 25})},
		"relabelled between two lists with a selector, and modified on a watch": {
			selects(list("a", 1, 0, 10, labelled(object("x", 5, "1")))), selects(list("a", 3, 0, 20)),
			stream("a", 4, 22, event(modified, 5, object("x", 25, "2")))},
		"relabelled between two lists with a selector, and deleted on a watch": {
			selects(list("a", 1, 0, 10, labelled(object("x", 5, "1")))), selects(list("a", 3, 0, 20)),
			stream("a", 4, 22, event(deleted, 5, object("x", 25, "2")))},
		"deleted before a streaming list": {
			list("a", 1, 0, 10, object("x", 5, "1")), streaming(3, 20)},
		"deleted before a streaming list, and recreated": {
			list("a", 1, 0, 10, object("x", 5, "1")), streaming(3, 20, event(added, 4, object("x", 25, "2")))},
		"deleted between two lists, with only one free revision": {
			list("a", 1, 0, 10, object("x", 5, "1"), object("y", 6, "1")), write(model.Update, 3, 6, 12, object("y", 12, "2")), list("a", 5, 0, 13)},
		"deleted between two lists and read in between, beside one that was not read": {
			list("a", 1, 0, 10, object("k", 4, "1"), object("x", 5, "1")), write(model.Create, 3, 0, 20, object("y", 20, "1")),
			get(6, object("x", 5, "1")), list("a", 8, 0, 23, object("y", 20, "1"), object("z", 22, "1"), object("w", 23, "1"))},
		"absent from the second of two lists with a selector, with only one free revision": {
			selects(list("a", 1, 0, 10, labelled(object("x", 5, "1")), labelled(object("y", 6, "1")))),
			write(model.Update, 3, 6, 12, labelled(object("y", 12, "2"))), selects(list("a", 5, 0, 13))},
		"recreated after an unobserved deletion": {
			list("a", 1, 0, 10, object("x", 5, "1")), stream("a", 2, 15, event(added, 3, object("x", 18, "2")))},
		"an unobserved change before the deletion": {
			list("a", 1, 0, 10, object("x", 5, "1")), stream("a", 2, 15, event(deleted, 3, object("x", 18, "2")))},
		"an update of a version that was not observed": {
			list("a", 1, 0, 10, object("x", 5, "1")), write(model.Update, 3, 12, 15, object("x", 15, "3"))},
		"an update without a precondition": {
			write(model.Update, 3, 0, 15, object("x", 15, "3"))},
		"a create after an unrecorded delete": {
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Create, 3, 0, 15, object("x", 15, "2"))},
		"an update that changed nothing": {
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Update, 3, 5, 5, object("x", 5, "1"))},
		"an update that changed nothing after an unrecorded write": {
			get(1, object("x", 5, "1")), write(model.Update, 3, 0, 5, object("x", 5, "1"))},
		"a deletionTimestamp set twice": {
			committed(change(object("x", 5, "1")), change(object("x", 8, "2"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Delete, 3, 0, 8, object("x", 8, "")),
			get(5, object("x", 8, "2")), write(model.Delete, 7, 0, 8, object("x", 8, ""))},
		"a deletionTimestamp observed at the time of another delete": {
			committed(change(object("x", 5, "1")), change(object("x", 8, "2")), change(object("y", 9, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Create, 3, 0, 9, object("y", 9, "1")),
			stream("a", 2, 5, event(modified, 5, object("x", 8, "2"))), write(model.Delete, 5, 0, 8, object("x", 8, ""))},
		"an unobserved deletionTimestamp, older than what another client had observed before the delete": {
			committed(change(object("x", 5, "1")), change(object("x", 8, "2")), change(object("y", 9, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Create, 3, 0, 9, object("y", 9, "1")), write(model.Delete, 5, 0, 8, object("x", 8, ""))},
		"a delete after one of unknown outcome": {
			committed(change(object("x", 5, "1")), deletion(object("x", 8, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), refused(3, model.Delete, model.Unknown), refused(5, model.Delete, model.NotFound)},
		"a delete before one of unknown outcome": {
			committed(change(object("x", 5, "1")), deletion(object("x", 8, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), refused(3, model.Delete, model.Conflict), refused(5, model.Delete, model.Unknown)},
		"a delete that lost the race to another one": {
			committed(change(object("x", 5, "1")), deletion(object("x", 8, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Delete, 3, 0, 0, object("x", 0, "")), onB(write(model.Delete, 3, 0, 8, object("x", 8, "")))},
		"a delete that lost the race to one of two others": {
			committed(change(object("x", 5, "1")), deletion(object("x", 8, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Delete, 3, 0, 0, object("x", 0, "")), onB(write(model.Delete, 3, 0, 0, object("x", 0, ""))), refused(5, model.Delete, model.NotFound)},
		"two deletes of which one finds the object gone, after one of unknown outcome that made as many deletions as there were deletes": {
			committed(change(object("x", 5, "1")), deletion(object("x", 6, "1")), change(object("x", 8, "2")), deletion(object("x", 9, "2"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), refused(3, model.Delete, model.Unknown), write(model.Create, 5, 0, 8, object("x", 8, "2")),
			write(model.Delete, 7, 0, 0, object("x", 0, "")), write(model.Delete, 7, 0, 0, object("x", 0, ""))},
		"a refused delete, during a possible deletion of the collection": {
			committed(change(object("x", 5, "1")), deletion(object("x", 8, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), refused(3, model.Delete, model.TooMany), leftOut(OmittedOthers)},
		"a refused delete of an object that expires": {
			committed(change(object("x", 5, "1")), model.Change{RV: 8, Deleted: true, Expired: true, Object: *object("x", 8, "1")}),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), refused(3, model.Delete, model.TooMany)},
		"a refused delete, while another request deletes the terminating object": {
			committed(change(object("x", 5, "1")), change(object("x", 8, "2")), deletion(object("x", 9, "2"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Delete, 3, 0, 8, object("x", 8, "")), refused(5, model.Delete, model.TooMany), leftOut(OmittedOthers)},
		"a refused delete, while an unrecorded writer deletes": {
			committed(change(object("x", 5, "1")), change(object("x", 7, "2")), deletion(object("x", 8, "2"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), refused(3, model.Delete, model.NotFound)},
		"a delete that lost the race to an unrecorded writer": {
			committed(change(object("x", 5, "1")), deletion(object("x", 6, "1")), change(object("x", 8, "2")), change(object("x", 9, "3")), deletion(object("x", 10, "3"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Delete, 3, 0, 6, object("x", 6, "")), onB(write(model.Delete, 3, 0, 0, object("x", 0, ""))),
			write(model.Create, 7, 0, 8, object("x", 8, "2")), list("a", 9, 0, 9, object("x", 9, "3"))},
		"an update that changes nothing of a version whose content is written again before it returns": {
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Update, 3, 5, 6, object("x", 6, "2")),
			with(write(model.Update, 5, 6, 8, object("x", 8, "2")), func(op *model.Operation) { op.Return = 12 }),
			write(model.Update, 6, 6, 7, object("x", 7, "3")), write(model.Update, 8, 7, 8, object("x", 8, "2"))},
		"an update that returns what another one of unknown outcome has written": {
			etcdPart{To: 9, State: true, Changes: []model.Change{change(object("x", 5, "1")), change(object("y", 6, "1")), change(object("x", 7, "2")), change(object("y", 8, "2"))}},
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Create, 3, 0, 6, object("y", 6, "1")),
			refused(5, model.Update, model.Unknown), write(model.Update, 7, 6, 8, object("y", 8, "2")), write(model.Update, 9, 0, 7, object("x", 7, "2"))},
		"an update answered with what the deletion of a collection has marked, before whose end another object was gone": {
			committed(change(object("x", 5, "1")), change(object("y", 6, "1")), change(object("x", 7, "2")), deletion(object("y", 8, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Create, 3, 0, 6, object("y", 6, "1")), leftOut(omittedCollections),
			with(get(5, object("y", 0, "")), func(op *model.Operation) { op.Err, op.Objects = model.NotFound, nil }),
			write(model.Update, 7, 0, 7, object("x", 7, "2")), write(model.Delete, 9, 0, 7, object("x", 7, ""))},
		"a get that finds nothing, and a refused write": {
			write(model.Create, 1, 0, 5, object("x", 5, "1")),
			with(get(3, object("x", 0, "")), func(op *model.Operation) { op.Err, op.Objects = model.NotFound, nil }),
			model.Operation{Client: "c", Server: "a", Kind: model.Create, Call: 5, Return: 6, Object: object("y", 0, ""), Err: model.AlreadyExists}},
		"a delete without a known deletion": {
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Delete, 3, 0, 0, object("x", 0, "")),
			write(model.Create, 5, 0, 15, object("x", 15, "2"))},
		"a first page": {
			with(list("a", 1, 0, 10, object("x", 5, "1")), func(op *model.Operation) { op.Limit, op.HasMore, op.Remaining = 1, true, 500 })},
		"410 after an unobserved compaction": {
			list("a", 0, 0, 9, object("x", 5, "1")),
			with(list("a", 1, 7, 0), func(op *model.Operation) { op.Match, op.Err = model.MatchExact, model.Expired }),
			stream("a", 3, 9, model.Event{Type: model.Error, Time: 4, Err: model.Expired})},
		"a table without contents": {
			list("a", 1, 0, 10, object("x", 5, "")), list("b", 3, 0, 10, object("x", 5, "1"))},
		"output of etcd that begins later": {
			list("a", 1, 0, 10, object("x", 5, "1")), stream("a", 2, 10, event(modified, 3, object("x", 15, "2")), event(modified, 5, object("x", 30, "3"))),
			etcdPart{From: 20, To: 30, Changes: []model.Change{change(object("x", 30, "3"))}}},
		"a state of etcd that lacks what was deleted before": {
			list("a", 1, 0, 10, object("x", 5, "1")), etcdPart{From: 20, To: 20, State: true}, list("a", 5, 0, 20)},
		"etcd with another API version": {
			list("a", 1, 0, 10, object("x", 5, "1"), object("y", 7, "2")),
			etcdPart{From: 10, To: 10, State: true, Changes: []model.Change{change(object("x", 5, "other")), change(object("y", 7, "another"))}}},
		"an update of an object whose recreation was not observed": {
			stream("a", 0, 4, event(model.Added, 5, object("x", 5, "1")), event(model.Deleted, 6, object("x", 6, "1"))),
			write(model.Update, 20, 8, 9, again(object("x", 9, "2"))),
		},
		"an update of an object whose deletion and recreation were not observed": {
			write(model.Create, 5, 0, 5, object("x", 5, "1")), write(model.Update, 20, 8, 9, again(object("x", 9, "2"))),
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, v := judged(t, recording(t, parts...))
			require.EqualValues(t, "passed", v.Outcome, "%s\n%+v", v.Report(), h.Truth.Changes)
		})
	}
}

// An object created after a deletion is another one, even if a source does not show it.
func TestAnObjectOfUnknownUIDIsNotTheDeletedOne(t *testing.T) {
	nameless := object("x", 8, "2")
	nameless.UID = ""
	h, _ := judged(t, recording(t, stream("a", 0, 4, event(model.Added, 5, object("x", 5, "1")), event(model.Deleted, 6, object("x", 6, "1"))), list("a", 20, 0, 10, nameless)))
	last := h.Truth.Changes[len(h.Truth.Changes)-1]
	require.Equal(t, []any{int64(8), ""}, []any{last.RV, last.Object.UID})
}

// TestWhoContradictsWhatOthersSawIsAccused has recordings in which one server returns
// what is impossible given what another source observed. It is named.
func TestWhoContradictsWhatOthersSawIsAccused(t *testing.T) {
	for name, row := range map[string]struct {
		guarantee string
		parts     []any
	}{
		"a stream lacks a change that another server sent": {"Reliable", []any{
			stream("a", 1, 10, event(added, 3, object("x", 20, "1")), event(added, 4, object("y", 30, "1"))),
			stream("b", 1, 10, event(added, 4, object("y", 30, "1")))}},
		"a stream lacks an acknowledged write": {"Reliable", []any{
			write(model.Create, 1, 0, 20, object("x", 20, "1")), stream("b", 1, 10, event(added, 4, object("y", 30, "1")))}},
		"a list lacks an object that another server lists": {"Exact-state", []any{
			list("a", 1, 0, 20, object("x", 10, "1")), list("b", 1, 0, 15)}},
		"a list with a selector lacks an object that another server lists": {"Exact-state", []any{
			list("a", 1, 0, 20, labelled(object("x", 10, "1"))), selects(list("b", 1, 0, 15))}},
		"a streaming list lacks an object that another server lists": {"Initial", []any{
			list("a", 1, 0, 20, object("x", 10, "1")), func() model.Stream { s := streaming(3, 15); s.Server = "b"; return s }()}},
		"a list has an old version": {"Exact-state", []any{
			write(model.Create, 1, 0, 10, object("x", 10, "1")), write(model.Update, 3, 10, 15, object("x", 15, "2")), list("b", 5, 0, 20, object("x", 10, "1"))}},
		"an object that differs from what others observed": {"Exact-state", []any{
			list("a", 1, 0, 20, object("x", 10, "1")), list("a", 3, 0, 20, object("x", 10, "1")), list("b", 5, 0, 20, object("x", 10, "2"))}},
		"an object that differs from etcd's": {"Exact-state", []any{
			list("b", 1, 0, 20, object("x", 10, "2")), list("b", 3, 0, 20, object("x", 10, "2"), object("y", 12, "1")),
			etcdPart{From: 20, To: 20, State: true, Changes: []model.Change{change(object("x", 10, "1")), change(object("y", 12, "1"))}}}},
		"a refused delete that took effect": {"Linearizable", []any{
			committed(change(object("x", 5, "1")), deletion(object("x", 8, "1"))),
			write(model.Create, 1, 0, 5, object("x", 5, "1")), onB(refused(3, model.Delete, model.TooMany))}},
		"a write that changed nothing, and returned an outdated version": {"Linearizable", []any{
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Update, 3, 5, 8, object("x", 8, "2")), onB(write(model.Update, 5, 0, 5, object("x", 5, "1")))}},
		"an update that took effect although another one was first": {"Preconditions", []any{
			write(model.Create, 1, 0, 5, object("x", 5, "1")), write(model.Update, 3, 5, 6, object("x", 6, "2")), onB(write(model.Update, 5, 5, 8, object("x", 8, "3")))}},
		"a most-recent list that misses a write": {"Most-recent", []any{
			write(model.Create, 1, 0, 20, object("x", 20, "1")), list("b", 3, -1, 10)}},
		"a deletion that etcd never committed": {"Faithful", []any{
			etcdPart{From: 10, To: 10, State: true, Changes: []model.Change{change(object("x", 5, "1"))}},
			etcdPart{From: 10, To: 30, Changes: []model.Change{change(object("y", 30, "1"))}},
			stream("b", 1, 10, event(deleted, 3, object("x", 20, "1")))}},
		"an acknowledged write that etcd never committed": {"Linearizable", []any{
			etcdPart{From: 10, To: 30, Changes: []model.Change{change(object("y", 30, "1"))}},
			onB(write(model.Create, 1, 0, 20, object("x", 20, "1")))}},
		"a delete that etcd never committed": {"Linearizable", []any{
			etcdPart{From: 10, To: 10, State: true, Changes: []model.Change{change(object("x", 5, "1"))}},
			etcdPart{From: 10, To: 30, Changes: []model.Change{deletion(object("x", 20, "")), change(object("x", 25, "2"))}},
			onB(write(model.Create, 5, 0, 25, object("x", 25, "2"))), onB(write(model.Delete, 7, 0, 0, object("x", 0, "")))}},
	} {
		t.Run(name, func(t *testing.T) {
			h, v := judged(t, recording(t, row.parts...))
			require.EqualValues(t, "failed", v.Outcome, "%+v", h.Truth.Changes)
			require.Equal(t, row.guarantee, v.Violations[0].Guarantee, v.Report())
			require.Contains(t, v.Violations[0].Text, " on b")
		})
	}
}

// TestClocksThatDiffer proves that a request before another by less than the skew proves
// nothing, and one by more does.
func TestClocksThatDiffer(t *testing.T) {
	second := int64(time.Second)
	for gap, want := range map[int64]string{second: "passed", 3 * second: "failed"} {
		r := recording(t, write(model.Create, second, 0, 20, object("x", 20, "1")), list("b", second+gap, -1, 10))
		header, h, err := r.History(HistoryOptions{ClockSkew: time.Second})
		require.NoError(t, err)
		require.Equal(t, "1s", header.Attributes[traces.AttributeSkew])
		v := judge.RealCluster(h)
		require.EqualValues(t, want, v.Outcome, "%s", v.Report())
	}
}

// TestTheSameRecordingIsTheSameHistory, whatever the order in which maps are walked.
func TestTheSameRecordingIsTheSameHistory(t *testing.T) {
	build := func() *model.History {
		var parts []any
		for i := int64(0); i < 50; i++ {
			parts = append(parts, list("a", 3*i, 0, 1000+10*i, object(fmt.Sprint("x", i%7), 995+10*i, "1")))
		}
		_, h, err := recording(t, parts...).History(HistoryOptions{})
		require.NoError(t, err)
		return h
	}
	first := build()
	require.Greater(t, len(first.Truth.Changes), 60, "with the deletions that nobody saw")
	for range 10 {
		require.Equal(t, first, build())
	}
}

// TestMerge makes the same history from a history of a recording.
func TestMerge(t *testing.T) {
	r := recording(t, write(model.Create, 1e9, 0, 5, object("x", 5, "1")), list("a", 2e9, 0, 10, object("x", 5, "1")),
		stream("a", 3e9, 10, event(modified, 4e9, object("x", 15, "2")), event(deleted, 5e9, object("x", 20, "2"))))
	header, h, err := r.History(HistoryOptions{})
	require.NoError(t, err)
	again := &Recording{}
	require.NoError(t, again.Merge(header, h))
	header2, h2, err := again.History(HistoryOptions{})
	require.NoError(t, err)
	require.Equal(t, h, h2)
	require.Equal(t, header.Attributes[traces.AttributeBegan], header2.Attributes[traces.AttributeBegan])
	require.Equal(t, "pods", header2.Attributes[traces.AttributeResource])

	require.ErrorIs(t, again.Merge(traces.Header{}, h), ErrNotOfCluster, "a simulated history")
	other := &Recording{Resource: "nodes"}
	require.EqualError(t, other.Merge(header, h), "expected a history about nodes, found one about pods")
}

// TestOnlyLabelsThatAreSelectedByAreKept requires that others are dropped everywhere.
func TestOnlyLabelsThatAreSelectedByAreKept(t *testing.T) {
	build := func(all bool) *model.History {
		labelled := object("x", 5, "1")
		labelled.Labels = map[string]string{"app": "web", "owner": "joe"}
		op := list("a", 1, 0, 10, labelled)
		op.Selector.Labels = map[string]string{"app": "web"}
		_, h, err := recording(t, op).History(HistoryOptions{AllLabels: all})
		require.NoError(t, err)
		return h
	}
	require.Equal(t, map[string]string{"app": "web"}, build(false).Truth.Changes[0].Object.Labels)
	require.Equal(t, map[string]string{"app": "web"}, build(false).Operations[0].Objects[0].Labels)
	require.Len(t, build(true).Truth.Changes[0].Object.Labels, 2)
}
