package decisive

import (
	"cmp"
	"slices"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// UnderWay is a call of a cache that was interrupted.
type UnderWay struct {
	Goroutine uint64 `json:"goroutine"`
	// Since is when the call began, as far as its synchronisation points show.
	Since time.Duration `json:"since"`
	// Function is the innermost one that it was in both before and after, and From and To are the
	// places in it where it stopped and continued.
	Function string `json:"function"`
	From     string `json:"from"`
	To       string `json:"to"`
	// Held is how long the scheduler stalled it there, by which decision; 0 if it waited for
	// something else.
	Held     time.Duration `json:"held,omitempty"`
	Decision uint64        `json:"decision,omitempty"`
	// Before are its last steps before the interruption, After the first ones after it.
	Before []Step `json:"before"`
	After  []Step `json:"after"`
	// Meanwhile is what the caches' own goroutines did during the interruption, except in functions
	// that they had also been in shortly before.
	Meanwhile []Doing `json:"meanwhile,omitempty"`

	stopped, wentOn sim.Point // the last one before and the first one after
}

// maxUnderWay is how many such calls are shown.
const maxUnderWay = 3

// underWay returns the calls that were interrupted while a turn made the difference. Goroutines
// that begin in a cache are its own, and mostly idle; those that come from outside carry out
// requests.
func (s Story) underWay(t *Turn) []UnderWay {
	var order []uint64
	passed := map[uint64][]sim.Point{}
	for _, p := range s.Points {
		if _, known := passed[p.Goroutine]; !known {
			order = append(order, p.Goroutine)
		}
		passed[p.Goroutine] = append(passed[p.Goroutine], p)
	}
	var found []UnderWay
	for _, goroutine := range order {
		if call, ok := s.standing(passed[goroutine], t); ok {
			found = append(found, call)
		}
	}
	slices.SortStableFunc(found, func(a, b UnderWay) int {
		return cmp.Or(-cmp.Compare(bit(a.Since >= s.Asked), bit(b.Since >= s.Asked)), cmp.Compare((a.Since-s.Asked).Abs(), (b.Since-s.Asked).Abs()))
	})
	found = found[:min(len(found), maxUnderWay)]
	for i := range found {
		for _, goroutine := range order {
			if doing := s.cameTo(passed[goroutine], found[i]); len(doing.Steps) > 0 {
				found[i].Meanwhile = append(found[i].Meanwhile, doing)
			}
		}
		// First those that did something when it made the difference.
		slices.SortStableFunc(found[i].Meanwhile, func(a, b Doing) int { return bit(b.last() >= t.from()) - bit(a.last() >= t.from()) })
		found[i].Meanwhile = found[i].Meanwhile[:min(len(found[i].Meanwhile), maxOwn)]
	}
	return found
}

// last returns the time of the last step.
func (d Doing) last() time.Duration { return d.Steps[len(d.Steps)-1].At }

// maxOwn is how many goroutines of caches are shown.
const maxOwn = 3

// shortly is how long before a call the usual functions of the caches' goroutines are collected.
const shortly = time.Second

// cameTo returns what a goroutine of a cache did while a call was interrupted.
func (s Story) cameTo(points []sim.Point, call UnderWay) Doing {
	doing := Doing{Goroutine: points[0].Goroutine}
	if !s.isOwn(points) {
		return doing
	}
	known := map[string]bool{}
	for _, p := range points {
		calls := s.inCaches(p)
		switch {
		case len(calls) == 0 || p.Decision >= call.wentOn.Decision || p.At < call.stopped.At-shortly:
		case p.Decision <= call.stopped.Decision:
			known[calls[0].Function] = true
		case !known[calls[0].Function]:
			doing.add(Step{p.At, calls, true})
		}
	}
	return doing
}

// bit returns 1 for true.
func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

// standing returns the interrupted call of a goroutine with these points.
func (s Story) standing(points []sim.Point, t *Turn) (UnderWay, bool) {
	until := t.until()
	// next is its first point after the time in question.
	next := slices.IndexFunc(points, func(p sim.Point) bool { return p.At > until })
	if next <= 0 || s.isOwn(points) {
		return UnderWay{}, false
	}
	before, after := next-1, next
	for before >= 0 && len(s.inCaches(points[before])) == 0 {
		if isWhole(points[before].Callers) {
			return UnderWay{}, false // it was elsewhere
		}
		before--
	}
	for after < len(points) && len(s.inCaches(points[after])) == 0 {
		if isWhole(points[after].Callers) {
			return UnderWay{}, false // it had returned
		}
		after++
	}
	if before < 0 || after == len(points) {
		return UnderWay{}, false
	}
	call := UnderWay{Goroutine: points[0].Goroutine, stopped: points[before], wentOn: points[after]}
	then := s.inCaches(points[after])
	for _, c := range s.inCaches(points[before]) {
		if i := slices.IndexFunc(then, func(t sim.Call) bool { return t.Function == c.Function }); i >= 0 {
			call.Function, call.From, call.To = c.Function, c.Place, then[i].Place
			break
		}
	}
	if call.Function == "" {
		return UnderWay{}, false
	}
	first := before
	for first > 0 && (len(s.inCaches(points[first-1])) > 0 || !isWhole(points[first-1].Callers)) {
		first--
	}
	call.Since = points[first].At
	for _, p := range points[first : before+1] {
		if calls := s.inCaches(p); len(calls) > 0 {
			call.Before = appendStep(call.Before, Step{p.At, calls, true})
		}
	}
	call.Before = call.Before[max(0, len(call.Before)-maxAround):]
	for _, p := range points[after:] {
		if calls := s.inCaches(p); len(calls) > 0 && len(call.After) < maxAround {
			call.After = appendStep(call.After, Step{p.At, calls, true})
		}
	}
	for _, d := range s.Decisions {
		if d.Goroutine == call.Goroutine && d.Kind == sim.KindLength && d.At <= until && d.At+s.Schedule.StallLength(d.Chosen) >= until {
			call.Held, call.Decision = s.Schedule.StallLength(d.Chosen), d.Number
		}
	}
	return call, true
}

// isOwn reports whether a goroutine begins in a cache, or its beginning is unknown.
func (s Story) isOwn(points []sim.Point) bool {
	for _, p := range points {
		if n := len(p.Callers); isWhole(p.Callers) {
			return n > 1 && isUnder(p.Callers[n-2], s.Under[:s.Cache])
		}
	}
	return true
}
