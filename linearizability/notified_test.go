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
	for _, row := range []struct {
		name   string
		marked bool // the stream begins with the state
		told   []model.Event
		broken guarantees
	}{
		{"not recorded", false, nil, nil},
		{"everything", false, []model.Event{x5, y4, x7, z9, y12, x15}, nil},
		{"objects in another order", false, []model.Event{y4, y12, z9, x5, x7, x15}, nil},
		{"not yet all", false, []model.Event{x5, y4, x7, z9}, nil},
		{"nothing from a stream yet", false, []model.Event{x5, y4}, nil},
		{"a state again, after a list", false, []model.Event{x5, y4, x7, as(x7, model.Modified), z9, y12, x15}, nil},
		{"a deletion that was missed", false, []model.Event{x5, y4, gone, x7}, nil},
		{"recreated after a deletion", false, []model.Event{x5, y4, x7, z9, y12, with(as(y12, model.Added), func(e *model.Event) { e.Object.RV = 13 }), x15}, nil},
		{"the initial events, at once", true, []model.Event{added(7), z9, y4, y12, x15}, nil},
		{"none of the initial events", true, []model.Event{added(7), y4, y12, x15}, nil},

		{"a change between others missing", false, []model.Event{x5, y4, z9, y12, x15}, broken},
		{"an add missing", false, []model.Event{x5, y4, x7, y12, x15}, broken},
		{"a deletion missing", false, []model.Event{x5, y4, x7, z9, x15}, broken},
		{"an update instead of a deletion", false, []model.Event{x5, y4, x7, z9, as(y12, model.Modified), x15}, broken},
		{"a deletion after initial events missing", true, []model.Event{added(7), y4, z9, x15}, broken},
		{"two adds", false, []model.Event{x5, y4, as(x7, model.Added), z9, y12, x15}, broken},
		{"an update first", false, []model.Event{as(x5, model.Modified), y4, x7, z9, y12, x15}, broken},
		{"a deletion first", false, []model.Event{x5, x7, z9, y12, x15}, broken},
		{"two deletions", false, []model.Event{x5, y4, x7, z9, y12, y12, x15}, broken},
		{"an update after a deletion", false, []model.Event{x5, y4, x7, z9, y12, with(as(y12, model.Modified), func(e *model.Event) { e.Object.RV = 13 }), x15}, broken},
		{"an older state", false, []model.Event{x5, y4, x7, as(x5, model.Modified), z9, y12, x15}, broken},
		{"recreated at the RV of the deletion", false, []model.Event{x5, y4, x7, z9, y12, as(y12, model.Added), x15}, broken},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := model.Stream{ID: 1, Client: "i1", Server: "s1", Call: 10, Return: 20, RV: 5, ResumesList: 1, Closed: model.Pending, Events: []model.Event{x7, z9, y12, x15}}
			other := changed(s, func(s *model.Stream) { s.ID, s.Client, s.ResumesList, s.Events = 2, "c1", 0, []model.Event{x7} })
			list := model.Operation{ID: 1, Client: "i1", Server: "s1", Kind: model.List, Call: 1, Return: 5, ResultRV: 5, Remaining: -1,
				Objects: []model.Object{*objectAt(5), *objectAt(4)}}
			if row.marked {
				s.RV, s.ResumesList, s.InitialEvents, s.Bookmarks, s.Events = 0, 0, true, true, block
			}
			informer := model.Informer{Client: "i1", Server: "s1"}
			for _, e := range row.told {
				informer.Notifications = append(informer.Notifications, model.Notification{Time: e.Time, Type: e.Type, Object: *e.Object})
			}
			judge(t, &model.History{Truth: shortTruth(), Operations: []model.Operation{list}, Streams: []model.Stream{s, other}, Informers: []model.Informer{informer}, End: 2000}, row.broken)
		})
	}
}
