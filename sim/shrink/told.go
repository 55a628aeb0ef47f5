package shrink

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/sim/workload"
)

// shortlyBefore is how long before a change was seen it was asked for, as a rule.
const shortlyBefore = 250 * time.Millisecond

// told leaves out at once what the violation does not tell of. What comes after it can
// only matter where it shows in the end, and most of what came before has nothing to do
// with it; to find that out client by client takes dozens of runs, and those are the
// longest.
func (s *search) told() {
	for s.ctx.Err() == nil && len(s.led) > 0 {
		var candidates []Case
		for _, keeps := range []func(taken) bool{s.tells, s.tellsOfClient, s.before} {
			c := s.best.withSteps(slices.DeleteFunc(s.best.steps(), func(t taken) bool { return !keeps(t) }))
			for _, plan := range []faults.Plan{nil, slices.DeleteFunc(c.plan(), func(f faults.Fault) bool { return f.At > s.shows() })} {
				if c = c.withPlan(plan).endingBy(s.shows()); !same(c, s.best) {
					candidates = append(candidates, c)
				}
			}
		}
		if s.firstAsIs("what the violation does not tell of", candidates) < 0 {
			return
		}
	}
}

// shows is when the last happened that the violation tells of.
func (s *search) shows() (last time.Duration) {
	for _, m := range s.led {
		last = max(last, time.Duration(m.Time))
	}
	return last
}

// tells is whether a step can be what a moment of the violation tells of: a client's
// last one before it, or one of anybody that began just before a change.
func (s *search) tells(t taken) bool {
	return slices.ContainsFunc(s.led, func(m explain.Moment) bool {
		at := time.Duration(m.Time)
		switch {
		case m.Lane == explain.Etcd:
			return t.client != workload.Closer && at-shortlyBefore <= t.step.At && t.step.At <= at
		case m.Process != t.client || t.step.At > at:
			return false
		}
		return t.client == workload.Closer || !slices.ContainsFunc(s.best.steps(), func(later taken) bool {
			return later.client == t.client && t.step.At < later.step.At && later.step.At <= at
		})
	})
}

// tellsOfClient is whether a step before the violation is one of a client of which it tells a step.
func (s *search) tellsOfClient(t taken) bool {
	return s.before(t) && slices.ContainsFunc(s.best.steps(), func(of taken) bool { return of.client == t.client && s.tells(of) })
}

// before is whether a step began before the violation showed.
func (s *search) before(t taken) bool { return t.client == workload.Closer || t.step.At <= s.shows() }

// endingBy is the case with faults healed soon after some time, unless that is so now.
func (c Case) endingBy(at time.Duration) Case {
	quiet := c.Spec.QuietPhase()
	c.Spec.Duration = min(c.Spec.Duration, max(at+margin, c.busy())+quiet)
	return c
}
