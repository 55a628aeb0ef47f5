package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// The informer lists at 5 and watches from there: a/x at 7, b/z at 9, the deletion of a/y at
// 12, and a/x at 15. A second stream begins with the state, which is marked.
func TestNotificationsOfHandlers(t *testing.T) {
	broken := guarantees{linearizability.Notified}
	x5, y4, x7, z9 := added(5), added(4), modified(7), added(9)
	y12, x15 := deleted(12), modified(15)
	as := func(e model.Event, kind model.EventType) model.Event { e.Type = kind; return e }
	gone := as(y4, model.Deleted) // as an informer knows it that has missed the deletion
	block := []model.Event{added(7), added(4), z9, initialEnd(10), y12, x15}
	list := model.Operation{ID: 1, Client: "i1", Server: "s1", Kind: model.List, Call: 1, Return: 5, ResultRV: 5, Remaining: -1,
		Objects: []model.Object{*objectAt(5), *objectAt(4)}}
	s := model.Stream{ID: 1, Client: "i1", Server: "s1", Call: 10, Return: 20, RV: 5, ResumesList: 1, Closed: model.Pending, Events: []model.Event{x7, z9, y12, x15}}
	other := changed(s, func(s *model.Stream) { s.ID, s.Client, s.ResumesList, s.Events = 2, "c1", 0, []model.Event{x7} })
	notified := func(told ...model.Event) *model.History {
		informer := model.Informer{Client: "i1", Server: "s1"}
		for _, e := range told {
			informer.Notifications = append(informer.Notifications, model.Notification{Time: e.Time, Type: e.Type, Object: *e.Object})
		}
		return &model.History{Truth: shortTruth(), Operations: []model.Operation{list}, Streams: []model.Stream{s, other}, Informers: []model.Informer{informer}, End: 2000}
	}
	marked := func(told ...model.Event) *model.History { // the stream begins with the state
		h := notified(told...)
		s := &h.Streams[0]
		s.RV, s.ResumesList, s.InitialEvents, s.Bookmarks, s.Events = 0, 0, true, true, block
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"not recorded", notified(), nil},
		{"everything", notified(x5, y4, x7, z9, y12, x15), nil},
		{"objects in another order", notified(y4, y12, z9, x5, x7, x15), nil},
		{"not yet all", notified(x5, y4, x7, z9), nil},
		{"nothing from a stream yet", notified(x5, y4), nil},
		{"a state again, after a list", notified(x5, y4, x7, as(x7, model.Modified), z9, y12, x15), nil},
		{"a deletion that was missed", notified(x5, y4, gone, x7), nil},
		{"recreated after a deletion", notified(x5, y4, x7, z9, y12, with(as(y12, model.Added), func(e *model.Event) { e.Object.RV = 13 }), x15), nil},
		{"the initial events, at once", marked(added(7), z9, y4, y12, x15), nil},
		{"none of the initial events", marked(added(7), y4, y12, x15), nil},

		{"a change between others missing", notified(x5, y4, z9, y12, x15), broken},
		{"an add missing", notified(x5, y4, x7, y12, x15), broken},
		{"a deletion missing", notified(x5, y4, x7, z9, x15), broken},
		{"an update instead of a deletion", notified(x5, y4, x7, z9, as(y12, model.Modified), x15), broken},
		{"a deletion after initial events missing", marked(added(7), y4, z9, x15), broken},
		{"two adds", notified(x5, y4, as(x7, model.Added), z9, y12, x15), broken},
		{"an update first", notified(as(x5, model.Modified), y4, x7, z9, y12, x15), broken},
		{"a deletion first", notified(x5, x7, z9, y12, x15), broken},
		{"two deletions", notified(x5, y4, x7, z9, y12, y12, x15), broken},
		{"an update after a deletion", notified(x5, y4, x7, z9, y12, with(as(y12, model.Modified), func(e *model.Event) { e.Object.RV = 13 }), x15), broken},
		{"an older state", notified(x5, y4, x7, as(x5, model.Modified), z9, y12, x15), broken},
		{"recreated at the RV of the deletion", notified(x5, y4, x7, z9, y12, as(y12, model.Added), x15), broken},
	})
}
