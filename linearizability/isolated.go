package linearizability

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// checkIsolated judges Isolated by the marks that careless consumers leave on
// what the cache delivered to them: see model.Scribble. Nobody may see one, the
// consumer itself included, whose copy was made before.
//
// An object with a mark is not the one that was stored, so the rules that
// compare contents report it as well. This one says whose doing it is.
func (c *checker) checkIsolated() {
	streams := map[int]*model.Stream{}
	for i := range c.history.Streams {
		if s := &c.history.Streams[i]; s.Scribbles {
			streams[s.ID] = s
			for j := range s.Events {
				if isData(&s.Events[j]) {
					c.counts.Scribbled++
				}
			}
		}
	}
	if len(streams) == 0 {
		return // nobody leaves marks, and looking for them takes a while
	}
	mark := func(object *model.Object) (by string, found bool) {
		stream, found := model.ScribbledBy(object)
		if s := streams[stream]; found && s != nil {
			return "what " + describeStream(s) + " did to its own", true
		}
		return fmt.Sprintf("the mark of stream %d", stream), found
	}
	for i := range c.history.Streams {
		s := &c.history.Streams[i]
		for j := range s.Events {
			event := &s.Events[j]
			if by, found := mark(event.Object); found {
				c.violate(Isolated, Witness{Client: s.Client, Stream: s.ID, Events: []*model.Event{event}, RVs: []int64{event.RV}},
					fmt.Sprintf("%s: %s shows %s", describeStream(s), describeEvent(event), by))
			}
		}
	}
	for i := range c.history.Operations {
		op := &c.history.Operations[i]
		for j := range op.Objects {
			if by, found := mark(&op.Objects[j]); found {
				c.violate(Isolated, witnessOf(op, op.Objects[j].RV),
					fmt.Sprintf("%s returned %s, which shows %s", describeOperation(op), op.Objects[j].Key(), by))
			}
		}
	}
	for i := range c.history.Informers {
		informer := &c.history.Informers[i]
		for j := range informer.Objects {
			if by, found := mark(&informer.Objects[j]); found {
				c.violate(Isolated, Witness{Client: informer.Client, RVs: []int64{informer.Objects[j].RV}},
					fmt.Sprintf("the informer of client %s holds %s, which shows %s", informer.Client, informer.Objects[j].Key(), by))
			}
		}
	}
	for i := range c.history.Truth.Changes {
		change := &c.history.Truth.Changes[i]
		if by, found := mark(&change.Object); found {
			c.violate(Isolated, Witness{RVs: []int64{change.RV}},
				fmt.Sprintf("etcd's object %s at RV %d shows %s", change.Object.Key(), change.RV, by))
		}
	}
}
