package workload

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/watchsim/watchsim/model"
)

// client is the part that all kinds of clients share. It belongs to one goroutine.
type client struct {
	name      string
	random    *rand.Rand
	numbers   *numbers // the source of random
	catalog   catalog
	knowledge *knowledge
	servers   []*session
	began     time.Time
	part      *Part // the steps to take in a reduced workload, nil in a whole one
	taken     *Part // the steps taken so far

	// alive ends with the run and cancels requests in flight. working ends when faults
	// heal: clients that would disturb the quiet phase then send no more requests.
	alive, working context.Context
}

// arrive waits until the client starts: half of the long-lived clients at once, when
// there is nothing to list yet, and half within the first half of the run. It returns
// false if the run ended first.
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

// drawTimeout draws the timeout that a client requests for a watch that it will keep for a while, 0
// for none, in whole seconds, like timeoutSeconds.
func (c *client) drawTimeout(length time.Duration) int64 {
	most := c.catalog.config.WatchTimeout
	if most == 0 || length != 0 {
		return 0
	}
	return int64(time.Duration(1+c.random.Int64N(int64(most/time.Second))) * time.Second)
}

// anyServer draws the server for a request, as a load balancer would.
func (c *client) anyServer() *session { return pick(c.random, c.servers) }

// do performs op on a server and learns from the response.
func (c *client) do(server *session, op *model.Operation, token string) (next string) {
	next = server.do(c.alive, op, token)
	c.knowledge.seeOperation(op)
	return next
}

// list reads a list to its last page; first is the request of the first one. Before each further
// page, turn returns the server to ask, or nil to give up. list returns the number of requests and
// the last page requested; the list is incomplete if that page has an error or a continue token.
func (c *client) list(server *session, first *model.Operation, turn func() *session) (last *model.Operation, requests int) {
	op, requests := first, 1
	token := c.do(server, op, "")
	for op.Err == model.OK && token != "" && requests < maxPages {
		if server = turn(); server == nil {
			break
		}
		// The token carries the resourceVersion; setting one as well is invalid.
		op = &model.Operation{
			Kind: model.List, Scope: first.Scope, Selector: first.Selector,
			RV: model.RVUnset, Limit: first.Limit, Continues: op.ID,
		}
		token = c.do(server, op, token)
		requests++
	}
	return op, requests
}
