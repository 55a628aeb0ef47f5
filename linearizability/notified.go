package linearizability

import "github.com/watchsim/watchsim/model"

// notice identifies an event that a handler must be notified of: the object, its RV, and
// whether it was deleted.
type notice struct {
	key  model.Key
	rv   int64
	gone bool
}

// eventOf returns a notification as an event.
func eventOf(n *model.Notification) *model.Event {
	return &model.Event{Time: n.Time, Type: n.Type, RV: n.Object.RV, Object: &n.Object}
}

// judgeNotifications judges Notified. Notifications of different objects may come in any
// order, as the queue of client-go is by object.
func judgeNotifications(f *facts, out *findings) {
	for informer := range model.Each(f.history.Informers) {
		if len(informer.Notifications) == 0 {
			continue // not recorded, or none: Converged judges those
		}
		told, last := map[notice]bool{}, map[model.Key]*model.Notification{}
		for n := range model.Each(informer.Notifications) {
			key := n.Object.Key()
			before := last[key]
			last[key], told[notice{key, n.Object.RV, n.Type == model.Deleted}] = n, true
			witness := Witness{Client: informer.Client, Informer: informer, Key: key, RVs: []int64{n.Object.RV}, Events: []*model.Event{eventOf(n)}}
			if before != nil {
				witness.Evidence = eventOf(before)
			}
			switch there := before != nil && before.Type != model.Deleted; {
			case (n.Type == model.Added) == there:
				out.violate(Notified, notifiedOutOfTurn, witness)
			case before != nil && (n.Object.RV < before.Object.RV || !there && n.Object.RV == before.Object.RV):
				out.violate(Notified, notifiedBack, witness)
			}
		}
		f.judgeUnnotified(informer, told, out)
	}
}

// judgeUnnotified judges whether the handler was notified of every change that the informer's
// streams delivered. Notifications of the last ones may still be pending when the run ends.
// Initial events that end with a bookmark replace the informer's store when they are complete,
// and are not changes.
func (f *facts) judgeUnnotified(informer *model.Informer, told map[notice]bool, out *findings) {
	var open []Witness
	for s := range model.Each(f.history.Streams) {
		if s.Client != informer.Client {
			continue
		}
		initial := s.InitialEvents
		for event := range model.Each(s.Events) {
			if initial || !event.IsData() || event.Object == nil {
				initial = initial && !event.InitialEnd
				continue
			}
			if !told[notice{event.Object.Key(), event.RV, event.Type == model.Deleted}] {
				open = append(open, Witness{Client: informer.Client, Informer: informer, Key: event.Object.Key(), RVs: []int64{event.RV},
					Events: []*model.Event{event}, Other: s})
				continue
			}
			for _, witness := range open {
				witness.Evidence = event
				out.violate(Notified, notNotified, witness)
			}
			open = nil
		}
	}
}
