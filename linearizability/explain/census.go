package explain

import (
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// counted says what was counted of a server that a violation is about: all that
// is known of what happens inside of it.
func (e *Explainer) counted(server string) string {
	var facts []string
	for i := range e.history.Censuses {
		if census := &e.history.Censuses[i]; census.Server == server {
			facts = append(facts, fact(census))
		}
	}
	if len(facts) == 0 {
		return ""
	}
	left := ""
	if more := len(facts) - 2*shown; more > 0 {
		facts, left = facts[more:], fmt.Sprintf(" after %s", count(more, "earlier count"))
	}
	return fmt.Sprintf("What was counted of %s%s: %s.", server, left, strings.Join(facts, "; "))
}

func fact(c *model.Census) string {
	when := map[model.Phase]string{
		model.Serving: "while it served", model.Left: "after its clients had left", model.Stopped: "after it had been stopped",
	}[c.Phase]
	watchers := ""
	if c.Watchers != model.Uncounted {
		watchers = fmt.Sprintf(" and %s in the cache", count(c.Watchers, "watcher"))
	}
	return fmt.Sprintf("at %s, %s, %s%s over %d on etcd, and %s", at(c.Time), when, countWatches(c.Streams), watchers, c.EtcdWatches, count(c.Goroutines, "goroutine"))
}

func countWatches(n int) string {
	if n == 1 {
		return "1 client watch"
	}
	return fmt.Sprintf("%d client watches", n)
}

// scribblers names the streams whose consumers left their marks on what a
// violation is about.
func (e *Explainer) scribblers(v linearizability.Violation) string {
	if v.Guarantee != linearizability.Isolated {
		return ""
	}
	var objects []*model.Object
	for _, event := range v.Witness.Events {
		objects = append(objects, event.Object)
	}
	for _, op := range v.Witness.Operations {
		for i := range op.Objects {
			objects = append(objects, &op.Objects[i])
		}
	}
	for _, object := range objects {
		id, found := model.ScribbledBy(object)
		if s := e.stream(id); found && s != nil {
			return fmt.Sprintf("What it shows is the mark of stream %d of client %s on %s, opened at %s for %s: there, the API server writes over each object that the cache delivers, once the client's copy has been made. "+
				"The cache must have handed the same object to both.", s.ID, s.Client, s.Server, at(s.Call), query(s.Scope, s.Selector))
		}
	}
	return ""
}
