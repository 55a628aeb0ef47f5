package linearizability

import "github.com/watchsim/watchsim/model"

// notice is what a handler has to be told of an event: the object, its RV, and whether it
// is gone.
type notice struct {
	key  model.Key
	rv   int64
	gone bool
}

// eventOf is a notification as an event.
func eventOf(n *model.Notification) *model.Event {
	return &model.Event{Time: n.Time, Type: n.Type, RV: n.Object.RV, Object: &n.Object}
}

// judgeNotifications judges Notified. Handlers of different objects may be told in any
// order, as a queue of client-go hands over one object at a time.
func judgeNotifications(f *facts, out *findings) {
	for informer := range model.Each(f.history.Informers) {
		if len(informer.Notifications) == 0 {
			continue // nobody recorded them, or there are none: Converged tells
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

// judgeUnnotified judges whether the handler was told of every change that the informer's
// streams have shown. It may still be about to be told of the last ones when the run ends.
// Initial events that are marked replace what the informer holds when they are complete, and
// show no change.
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
