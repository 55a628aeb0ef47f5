package linearizability

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// The faults, by the names that histories give them, after which an API server
// begins with an empty cache.
const (
	serverRestart = "apiserver-restart"
	serverCrash   = "apiserver-crash"
)

// checkUnrefused judges Expired and TooLarge for requests that were answered but
// had to be refused. What comes of it is often reported as well: a gap of the
// stream, or a list that is older than was asked for.
func (c *checker) checkUnrefused(walks []*walk) {
	restarts := c.restarts()
	for _, w := range walks {
		s := w.stream
		if s.Err != model.OK || refusalOf(s) != model.OK || len(s.Events) == 0 {
			continue
		}
		if !hasBlock(s) {
			w.checkNotExpired(restarts[s.Server])
		} else if latest := c.bounds.atMost(s.Events[0].Time); s.RV > latest {
			// A watch without initial events may start in the future: it just waits.
			w.violate(TooLarge, 0, fmt.Sprintf("%s came, but etcd was at most at revision %d by then", describeEvent(&s.Events[0]), latest), s.RV)
		}
	}
	for i := range c.history.Operations {
		op := &c.history.Operations[i]
		if (op.Kind != model.Get && op.Kind != model.List) || unknown(op) || (op.Err != model.OK && op.Err != model.NotFound) {
			continue
		}
		if latest := c.bounds.atMost(op.Return); op.RV > latest {
			c.violate(TooLarge, witnessOf(op, op.RV),
				fmt.Sprintf("%s was answered, but etcd was at most at revision %d by then", describeOperation(op), latest))
		}
	}
}

// restarts returns, by server, below which RV its cache held nothing from which
// time on: a new cache holds nothing below what it lists first, and that is what
// etcd had when the old one stopped, or more.
func (c *checker) restarts() map[string]staircase {
	stairs := map[string][]stair{}
	for i := range c.history.Faults {
		fault := &c.history.Faults[i]
		if fault.Name != serverRestart && fault.Name != serverCrash {
			continue
		}
		if rv, _ := c.bounds.atLeast(fault.Begin); rv > 0 {
			for _, server := range fault.Processes {
				stairs[server] = append(stairs[server], stair{time: fault.End, rv: rv})
			}
		}
	}
	restarts := map[string]staircase{}
	for server := range stairs {
		restarts[server] = newStaircase(stairs[server])
	}
	return restarts
}

// checkNotExpired judges a watch that was served from its RV. It is certain that
// the RV was no longer held if the server had answered so before, as what a cache
// has dropped does not come back; or if the server was started anew since. Where
// neither is known the rule is silent: how far back a cache reaches is its own
// affair, and what it did not reach is then a gap.
func (w *walk) checkNotExpired(restarts staircase) {
	s := w.stream
	first := &s.Events[0]
	if refused, ok := w.check.evidence[s.Server].expired.before(s.Call); ok && s.RV <= refused.rv {
		w.violate(Expired, 0, fmt.Sprintf("%s came instead of 410, although %s had been answered with 410",
			describeEvent(first), describeStream(refused.walk.stream)), s.RV, refused.rv)
		return
	}
	if restarted, ok := restarts.before(s.Call); ok && s.RV < restarted.rv {
		w.violate(Expired, 0, fmt.Sprintf("%s came instead of 410, although the server had been started anew at %s, when etcd was at revision %d at least",
			describeEvent(first), at(restarted.time), restarted.rv), s.RV, restarted.rv)
	}
}
