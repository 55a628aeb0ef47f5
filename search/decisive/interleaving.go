package decisive

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Explained is the result for a run, as stored in the run's folder.
type Explained struct {
	Guarantee string `json:"guarantee"`
	Found     Found  `json:"found"`
	Turns     []Turn `json:"turns"`
	// Began is the origin of the history's clock, on the world's clock.
	Began time.Duration `json:"began"`
	// Asked is when the request in question was made, on the world's clock; 0 if unknown.
	Asked time.Duration `json:"asked,omitempty"`
}

// Turn is a decision that matters and its effect.
type Turn struct {
	// Decision is the last of those that belong together: where a goroutine is stalled, and for how
	// long.
	Decision sim.Decision `json:"decision"`
	// Held is how long the goroutine was delayed there, 0 if another one just went first. TooShort
	// is the longest delay with which the guarantee holds, 0 if that was not tried: then any length
	// breaks it, or another decision does.
	Held     time.Duration `json:"held,omitempty"`
	TooShort time.Duration `json:"too_short,omitempty"`
	// Stood is where the goroutine was, from the innermost call to the outermost.
	Stood []sim.Call `json:"stood,omitempty"`
	// Before and After are what the goroutine did in the code under test before it was stalled and
	// when it continued, in order.
	Before []Step `json:"before,omitempty"`
	After  []Step `json:"after,omitempty"`
	// Meanwhile is what others did in the code under test during the stall, or if TooShort is
	// known, in the time that makes the difference.
	Meanwhile []Doing `json:"meanwhile,omitempty"`
	// More is how many more goroutines did something.
	More int `json:"more,omitempty"`
	// UnderWay are the calls into the code under test in which a goroutine was stopped all that
	// time, those first that began soonest after the request in question.
	UnderWay []UnderWay `json:"under_way,omitempty"`
}

// Step says that a goroutine was at a place in the code under test.
type Step struct {
	At time.Duration `json:"at"`
	// Calls are those of the code under test, from the innermost to the outermost, without package
	// paths.
	Calls []sim.Call `json:"calls"`

	cache bool // whether a cache is among them
}

// Doing is what one goroutine did for a time.
type Doing struct {
	Goroutine uint64 `json:"goroutine"`
	Steps     []Step `json:"steps"`
}

const (
	// maxDoing is how many others are shown, maxSteps how many steps of each.
	maxDoing = 8
	maxSteps = 8
	// maxAround is how many steps are shown before and after a place.
	maxAround = 5
)

// Story is the recording from which turns are derived.
type Story struct {
	Found     Found
	Decisions []sim.Decision // all of the run
	Points    []sim.Point    // the synchronisation points of its trace
	Schedule  sim.Schedule
	// Under are the import paths of the code under test. The first Cache of them are caches, for
	// which interrupted calls are searched.
	Under []string
	Cache int
	// Asked is when the request in question was made, on the world's clock; 0 if unknown.
	Asked time.Duration
}

// Turns groups the decisions that matter and describes their effects.
func (s Story) Turns() []Turn {
	var turns []Turn
	for i := 0; i < len(s.Decisions); i++ {
		d := s.Decisions[i]
		// An interruption takes up to three decisions: how far away the next one is, or that the
		// place is in focus; whether it is a stall; and how long. The last one describes all.
		group := []sim.Decision{d}
		for (d.Kind == sim.KindYield || d.Kind == sim.KindFocus) && i+1 < len(s.Decisions) && (s.Decisions[i+1].Kind == sim.KindStall || s.Decisions[i+1].Kind == sim.KindLength) {
			i++
			group = append(group, s.Decisions[i])
			if s.Decisions[i].Kind == sim.KindLength {
				break
			}
		}
		matters := slices.ContainsFunc(group, func(d sim.Decision) bool { return slices.Contains(s.Found.Numbers, d.Number) })
		if !matters {
			continue
		}
		turn := Turn{Decision: group[len(group)-1]}
		if turn.Decision.Kind == sim.KindLength {
			turn.Held = s.Schedule.StallLength(turn.Decision.Chosen)
			if turn.Decision.Number == s.Found.Last {
				turn.TooShort = s.Schedule.StallLength(s.Found.TooShort)
			}
		}
		turn.tell(s)
		turns = append(turns, turn)
	}
	return turns
}

// from and until bound the time that makes the difference.
func (t Turn) from() time.Duration  { return t.Decision.At + t.TooShort }
func (t Turn) until() time.Duration { return t.Decision.At + t.Held }

// tell fills in what happened before, meanwhile and after.
func (t *Turn) tell(s Story) {
	own, from, until := t.Decision.Goroutine, t.from(), t.until()
	var stood []sim.Call
	others := map[uint64]int{} // indices in Meanwhile
	for _, p := range s.Points {
		before := p.Decision < t.Decision.Number
		if p.Goroutine == own && before {
			stood = p.Callers
		}
		step := Step{p.At, inside(p.Callers, s.Under), len(s.inCaches(p)) > 0}
		if len(step.Calls) == 0 {
			continue
		}
		switch {
		case p.Goroutine == own && before:
			t.Before = appendStep(t.Before, step)
			t.Before = t.Before[max(0, len(t.Before)-maxAround):]
		case p.Goroutine == own && len(t.After) < maxAround:
			t.After = appendStep(t.After, step)
		case p.Goroutine != own && !before && t.Held > 0 && p.At >= from && p.At <= until:
			i, known := others[p.Goroutine]
			if !known {
				i = len(t.Meanwhile)
				others[p.Goroutine] = i
				t.Meanwhile = append(t.Meanwhile, Doing{Goroutine: p.Goroutine})
			}
			t.Meanwhile[i].add(step)
		}
	}
	t.Stood = named(stood)
	if t.Decision.Number == s.Found.Last {
		t.UnderWay = s.underWay(t)
	}
	inCache := func(d Doing) int {
		return bit(slices.ContainsFunc(d.Steps, func(step Step) bool { return step.cache }))
	}
	slices.SortStableFunc(t.Meanwhile, func(a, b Doing) int { return inCache(b) - inCache(a) })
	t.More = max(0, len(t.Meanwhile)-maxDoing)
	t.Meanwhile = t.Meanwhile[:len(t.Meanwhile)-t.More]
}

// add adds a step in a function that the goroutine had not been in.
func (d *Doing) add(step Step) {
	known := slices.ContainsFunc(d.Steps, func(s Step) bool { return s.Calls[0].Function == step.Calls[0].Function })
	if !known && len(d.Steps) < maxSteps {
		d.Steps = append(d.Steps, step)
	}
}

// inCaches returns the calls at a point that belong to caches.
func (s Story) inCaches(p sim.Point) []sim.Call { return inside(p.Callers, s.Under[:s.Cache]) }

// appendStep adds a step unless it has the same calls as the last one, wherever in the innermost
// function.
func appendStep(steps []Step, step Step) []Step {
	if len(steps) > 0 {
		last, calls := steps[len(steps)-1].Calls, step.Calls
		if len(last) == len(calls) && last[0].Function == calls[0].Function && slices.Equal(last[1:], calls[1:]) {
			return steps
		}
	}
	return append(steps, step)
}
