package shrink

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability/explain"
)

// shortlyBefore is how long before it is seen a change is usually requested.
const shortlyBefore = 250 * time.Millisecond

// nearby is how long ago a fault that matters has usually ended.
const nearby = 5 * time.Second

// told leaves out at once what the violation does not mention. What comes after it can only matter
// where it shows in the end, and most of what came before is unrelated; to find that out client by
// client takes dozens of runs, and those are the longest.
func (s *search) told() {
	for again := true; again && s.ctx.Err() == nil && len(s.led) > 0; {
		shows := s.shows()
		near := slices.DeleteFunc(s.best.plan(), func(f faults.Fault) bool { return f.At > shows || f.End() < shows-nearby })
		before := slices.DeleteFunc(s.best.plan(), func(f faults.Fault) bool { return f.At > shows })
		var candidates []Case
		for _, guess := range []struct {
			keeps func(taken) bool
			plan  faults.Plan
		}{
			{s.tells, nil}, {s.tellsOfClient, nil}, {s.writesOrTells, nil}, {s.tells, before}, {s.writesOrTells, near},
			{s.before, nil}, {s.before, before},
		} {
			c := s.best.withSteps(slices.DeleteFunc(s.best.steps(), func(t taken) bool { return !guess.keeps(t) }))
			if c = c.withPlan(guess.plan).endingBy(shows); c.key() != s.best.key() {
				candidates = append(candidates, c)
			}
		}
		again = s.firstAsIs("what the violation does not tell of", candidates) == 0
	}
}

// shows returns the time of the last thing that the violation mentions.
func (s *search) shows() (last time.Duration) {
	for _, m := range s.led {
		last = max(last, time.Duration(m.Time))
	}
	return last
}

// tells reports whether a step can be what a moment of the violation mentions: a client's last one
// before it, or anybody's that began just before a change.
func (s *search) tells(t taken) bool {
	return slices.ContainsFunc(s.led, func(m explain.Moment) bool {
		at := time.Duration(m.Time)
		switch {
		case m.Lane == explain.Etcd:
			return t.client != workload.FinalWriter && at-shortlyBefore <= t.step.At && t.step.At <= at
		case m.Process != t.client || t.step.At > at:
			return false
		}
		return t.client == workload.FinalWriter || !slices.ContainsFunc(s.best.steps(), func(later taken) bool {
			return later.client == t.client && t.step.At < later.step.At && later.step.At <= at
		})
	})
}

// tellsOfClient reports whether a step before the violation is by a client of which the violation mentions a step.
func (s *search) tellsOfClient(t taken) bool {
	return s.before(t) && slices.ContainsFunc(s.best.steps(), func(of taken) bool { return of.client == t.client && s.tells(of) })
}

// writesOrTells reports whether a step before the violation is a writer's, or by a client of which
// the violation mentions a step: readers and watchers do not change what others see.
func (s *search) writesOrTells(t taken) bool {
	return s.before(t) && strings.HasPrefix(t.client, "writer-") || s.tellsOfClient(t)
}

// before reports whether a step began before the violation showed.
func (s *search) before(t taken) bool {
	return t.client == workload.FinalWriter || t.step.At <= s.shows()
}

// endingBy returns the case with faults healed soon after some time, unless they already are.
func (c Case) endingBy(at time.Duration) Case {
	quiet := c.Spec.QuietPhase()
	c.Spec.Duration = min(c.Spec.Duration, max(at+margin, c.busy())+quiet)
	return c
}

// leastLikely puts what hardly matters first, where the largest pieces are left out.
func leastLikely[T any](items []T, matters func(T) float64) []T {
	return slices.SortedStableFunc(slices.Values(items), func(a, b T) int { return cmp.Compare(matters(a), matters(b)) })
}

// distance returns how far a time is from the nearest moment that the violation mentions.
func (s *search) distance(at time.Duration) time.Duration {
	nearest := time.Duration(math.MaxInt64)
	for _, m := range s.led {
		nearest = min(nearest, (time.Duration(m.Time) - at).Abs())
	}
	return nearest
}

// stepMatters, clientMatters and faultMatters return larger values for what is more likely to be
// related to the violation.
func (s *search) stepMatters(t taken) float64 {
	if s.tells(t) {
		return 1
	}
	return -float64(s.distance(t.step.At))
}

func (s *search) clientMatters(name string) float64 {
	switch {
	case slices.ContainsFunc(s.best.steps(), func(t taken) bool { return t.client == name && s.tells(t) }):
		return 2
	case strings.HasPrefix(name, "writer-"):
		return 1
	}
	return 0
}

func (s *search) faultMatters(f faults.Fault) float64 {
	return -float64(min(s.distance(f.At), s.distance(f.End())))
}
