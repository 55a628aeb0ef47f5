package workload

import (
	"time"

	"github.com/watchsim/watchsim/model"
)

// The habits of a reader that pages through a list.
const (
	// maxPageThink is the usual maximum time between two pages; maxPageDawdle is the
	// occasional maximum, long enough for a compaction to expire the continue token.
	maxPageThink  = 100 * time.Millisecond
	maxPageDawdle = 4 * time.Second
)

// reader gets and lists at every kind of resourceVersion.
type reader struct{ client }

func (r *reader) run(schedule []time.Duration) { r.follow(r.working, schedule, r.act) }

// act makes one read and returns how many requests it took.
func (r *reader) act(int) int {
	server := r.anyServer()
	if oneIn(r.random, 3) {
		return r.get(server)
	}
	_, requests := r.list(server, r.drawList(), r.turnPage(server))
	return requests
}

func (r *reader) get(server *session) int {
	op := of(model.Get, r.catalog.key(r.random))
	switch choice := r.random.IntN(16); {
	case choice < 5:
	case choice < 10:
		op.RV = 0
	case choice < 15:
		op.RV = r.knowledge.recent(r.random)
	default:
		op.RV = r.knowledge.future(r.random)
	}
	r.do(server, op, "")
	return 1
}

// drawList draws a list. If the client knows no RV yet, the RV is 0.
func (r *reader) drawList() *model.Operation {
	request := &model.Operation{
		Kind: model.List, Scope: r.catalog.scope(r.random), Selector: r.catalog.selector(r.random), RV: model.RVUnset,
	}
	switch choice := r.random.IntN(16); {
	case choice < 5:
	case choice < 8:
		request.RV = 0
	case choice < 10:
		request.RV = r.knowledge.recent(r.random)
	case choice < 12:
		request.RV, request.Match = r.knowledge.old(r.random), model.MatchNotOlderThan
	case choice < 14:
		request.RV = r.knowledge.recent(r.random)
		request.Match = exactly(request.RV)
	case choice < 15:
		request.RV = r.knowledge.old(r.random)
		request.Match = exactly(request.RV)
	default:
		request.RV, request.Match = r.knowledge.future(r.random), model.MatchNotOlderThan
	}
	if oneIn(r.random, 2) {
		request.Limit = 1 + r.random.Int64N(r.catalog.config.MaxPageLimit)
	}
	return request
}

// exactly returns the match for an exact list; Exact is invalid at RV 0.
func exactly(rv int64) model.Match {
	if rv == 0 {
		return model.MatchUnset
	}
	return model.MatchExact
}

// turnPage waits between pages and sometimes continues on another server, which must
// honour the same token.
func (r *reader) turnPage(server *session) func() *session {
	return func() *session {
		think := maxPageThink
		if oneIn(r.random, 10) {
			think = maxPageDawdle
		}
		if !sleep(r.working, drawDuration(r.random, think)) {
			return nil
		}
		if oneIn(r.random, 4) {
			server = r.anyServer()
		}
		return server
	}
}
