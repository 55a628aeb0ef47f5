package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// finalWriter makes the last writes of a run after faults have healed, so that there is
// something to deliver in the quiet phase, and reads them back from every server. A
// flood precedes them if the config has one.
type finalWriter struct {
	writer
	backoff backoff
}

// due begins a step of the final writer: the writes of the flood come first, then the
// last writes, then the lists. It returns false if the final writer's part does not
// contain the step. at is the time of the step in a whole workload.
func (c *finalWriter) due(number int, at time.Duration) bool {
	if c.part == nil {
		c.note(Step{Number: number, At: at, Draws: c.numbers.drawn})
		return true
	}
	i := slices.IndexFunc(c.part.Steps, func(step Step) bool { return step.Number == number })
	if i < 0 {
		return false
	}
	c.numbers.seek(c.part.Steps[i].Draws)
	c.begin(c.alive, number, c.part.Steps[i].At)
	return true
}

// flood writes to one object after another and ignores failures, because nobody waits
// for these writes.
func (c *finalWriter) flood() {
	config, whole := c.catalog.config, c.part == nil
	if config.Flood == 0 || whole && !sleep(c.alive, floodDelay) {
		return
	}
	for i := range config.Flood {
		if c.due(i+1, time.Since(c.began)) {
			key := model.Key{Namespace: config.Namespaces[i%len(config.Namespaces)], Name: pick(c.random, config.Names)}
			c.put(pick(c.random, c.servers), key)
		}
		if whole && !sleep(c.alive, drawDuration(c.random, floodPause)) {
			return
		}
	}
}

// finish writes once to every namespace and then lists from every server. It retries
// each step until it succeeds, and returns an error for those that did not in time. The
// steps are timed from the end of the flood. Where writing has ended, it only lists.
func (c *finalWriter) finish() error {
	config, names := c.catalog.config, c.catalog.config.Names
	var problems []error
	c.within(maxLastWrites, func() {
		for i, namespace := range config.Namespaces {
			if config.Writing > 0 || !c.due(config.Flood+1+i, 0) {
				continue
			}
			key := model.Key{Namespace: namespace, Name: names[i%len(names)]}
			server := c.servers[i%len(c.servers)]
			if !c.retry(func() bool { return c.put(server, key) }) {
				problems = append(problems, fmt.Errorf(
					"workload: no write to namespace %s through %s succeeded within %v of the healing",
					namespace, server.server, maxLastWrites))
			}
		}
	})
	c.within(maxLastWrites, func() {
		for i, server := range c.servers {
			if !c.due(config.Flood+len(config.Namespaces)+1+i, 0) {
				continue
			}
			if !c.retry(func() bool { return c.listAll(server) }) {
				problems = append(problems, fmt.Errorf(
					"workload: no list from %s succeeded within %v of the last writes", server.server, maxLastWrites))
			}
		}
	})
	return errors.Join(problems...)
}

// within runs a step and cancels its requests when the time is up.
func (c *finalWriter) within(most time.Duration, step func()) {
	alive := c.alive
	ctx, cancel := context.WithTimeout(alive, most)
	defer cancel()
	c.alive = ctx
	step()
	c.alive = alive
}

// put updates the object, or creates it if there is none.
func (c *finalWriter) put(server *session, key model.Key) bool {
	op := of(model.Update, key)
	op.Object = c.newObject(key)
	c.do(server, op, "")
	if op.Err == model.NotFound {
		op = of(model.Create, key)
		op.Object = c.newObject(key)
		c.do(server, op, "")
	}
	return op.Err == model.OK
}

func (c *finalWriter) listAll(server *session) bool {
	op := &model.Operation{Kind: model.List, RV: model.RVUnset}
	c.do(server, op, "")
	return op.Err == model.OK
}

// retry calls try until it succeeds or the time of the step is up.
func (c *finalWriter) retry(try func() bool) bool {
	for c.alive.Err() == nil {
		if try() {
			c.backoff.succeed()
			return true
		}
		c.backoff.fail(c.alive, c.random)
	}
	return false
}
