package workload

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/watchsim/watchsim/model"
)

// client is what all kinds of clients have. It belongs to one goroutine.
type client struct {
	name      string
	random    *rand.Rand
	numbers   *numbers // what random reads from
	catalog   catalog
	knowledge *knowledge
	servers   []*session
	began     time.Time
	part      *Part // the steps to take in a reduced workload, nil in a whole one
	taken     *Part // those taken so far

	// alive ends with the run and cancels requests in flight; working ends when the run
	// heals: clients that would disturb the quiet phase send no more requests then.
	alive, working context.Context
}

// arrive waits for the client's time: half of the long-lived clients exist from the start,
// when there is nothing to list yet, and half arrive within the first half of the run. It
// returns false if the run ended first.
func (c *client) arrive() bool {
	if c.part != nil {
		arrived := false
		c.takePart(c.alive, func(Step) { arrived = true })
		return arrived
	}
	var wait time.Duration
	if !oneIn(c.random, 2) {
		wait = drawDuration(c.random, c.catalog.config.Active()/2)
	}
	return c.begin(c.alive, 1, time.Since(c.began)+wait)
}

// anyServer draws the server for a request, as a load balancer would.
func (c *client) anyServer() *session { return pick(c.random, c.servers) }

// do performs op on a server and learns from the response.
func (c *client) do(server *session, op *model.Operation, token string) (next string) {
	next = server.do(c.alive, op, token)
	c.knowledge.seeOperation(op)
	return next
}

// listRequest is a list to be read to its last page.
type listRequest struct {
	scope    model.Scope
	selector model.Selector
	rv       int64
	match    model.Match
	limit    int64
}

// list reads a list page by page. Before each further page, turn says from
// which server, or nil to give up. It returns the last page asked for, which
// is incomplete if it has an error or says that there is more, and how many
// requests were made.
func (c *client) list(server *session, request listRequest, turn func() *session) (last *model.Operation, requests int) {
	op := &model.Operation{
		Kind: model.List, Scope: request.scope, Selector: request.selector,
		RV: request.rv, Match: request.match, Limit: request.limit,
	}
	token := c.do(server, op, "")
	requests = 1
	for op.Err == model.OK && token != "" && requests < maxPages {
		if server = turn(); server == nil {
			break
		}
		// The token carries the resourceVersion; naming one as well is invalid.
		op = &model.Operation{
			Kind: model.List, Scope: request.scope, Selector: request.selector,
			RV: model.RVUnset, Limit: request.limit, Continues: op.ID,
		}
		token = c.do(server, op, token)
		requests++
	}
	return op, requests
}
