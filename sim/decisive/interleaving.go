package decisive

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Explained is what was found of a run, as it is kept in the run's folder.
type Explained struct {
	Guarantee string `json:"guarantee"`
	Found     Found  `json:"found"`
	Turns     []Turn `json:"turns"`
	// Began is when, on the world's clock, the history's clock stood at zero.
	Began time.Duration `json:"began"`
}

// Turn is a decision that matters and what it did.
type Turn struct {
	// Decision is the last of those that belong together: where a goroutine is held
	// up, how long.
	Decision sim.Decision `json:"decision"`
	// Held is how long the goroutine was held up there, 0 if another one just went
	// first.
	Held time.Duration `json:"held,omitempty"`
	// Before and After are what the goroutine did in the code under test before it was
	// held up and when it went on, Meanwhile what others did. They are in order.
	Before    []Step `json:"before,omitempty"`
	After     []Step `json:"after,omitempty"`
	Meanwhile []Step `json:"meanwhile,omitempty"`
}

// Step is that a goroutine was somewhere in the code under test.
type Step struct {
	At        time.Duration `json:"at"`
	Goroutine uint64        `json:"goroutine"`
	// Function is the innermost one of the code under test, Within the outermost.
	Function string `json:"function"`
	Within   string `json:"within"`
}

const (
	// stepsMost is how many steps of others are told of, and aroundMost of the
	// goroutine itself before and after.
	stepsMost  = 12
	aroundMost = 3
)

// Turns puts the decisions that matter together and says what they did: from all
// decisions of the run, and from the synchronisation points of its trace. under are
// the import paths of the code under test.
func Turns(found Found, decisions []sim.Decision, points []sim.Point, schedule sim.Schedule, under []string) []Turn {
	var turns []Turn
	for i := 0; i < len(decisions); i++ {
		d := decisions[i]
		// An interruption is decided in up to three steps: that the next one is so far
		// away, whether it is a stall, and how long. The last tells of all.
		group := []sim.Decision{d}
		for d.Kind == sim.DecidesYield && i+1 < len(decisions) && (decisions[i+1].Kind == sim.DecidesStall || decisions[i+1].Kind == sim.DecidesLength) {
			i++
			group = append(group, decisions[i])
			if decisions[i].Kind == sim.DecidesLength {
				break
			}
		}
		matters := slices.ContainsFunc(group, func(d sim.Decision) bool { return slices.Contains(found.Numbers, d.Number) })
		if !matters {
			continue
		}
		turn := Turn{Decision: group[len(group)-1]}
		if turn.Decision.Kind == sim.DecidesLength {
			turn.Held = schedule.StallLength(turn.Decision.Chosen)
		}
		turn.tell(points, under)
		turns = append(turns, turn)
	}
	return turns
}

// tell fills in what was done before, meanwhile and after.
func (t *Turn) tell(points []sim.Point, under []string) {
	own, until := t.Decision.Goroutine, t.Decision.At+t.Held
	for _, p := range points {
		function, within := inside(p.Callers, under)
		if function == "" {
			continue
		}
		step := Step{p.At, p.Goroutine, function, within}
		switch {
		case p.Goroutine == own && p.Decision < t.Decision.Number:
			t.Before = appendStep(t.Before, step)
			t.Before = t.Before[max(0, len(t.Before)-aroundMost):]
		case p.Goroutine == own && len(t.After) < aroundMost:
			t.After = appendStep(t.After, step)
		case p.Goroutine != own && p.Decision >= t.Decision.Number && p.At <= until && t.Held > 0 && len(t.Meanwhile) < stepsMost:
			t.Meanwhile = appendStep(t.Meanwhile, step)
		}
	}
	slices.SortStableFunc(t.Meanwhile, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
}

// appendStep adds a step unless the goroutine was there already, by its last step
// among them.
func appendStep(steps []Step, step Step) []Step {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Goroutine == step.Goroutine {
			if steps[i].Function == step.Function {
				return steps
			}
			break
		}
	}
	return append(steps, step)
}

// inside returns the innermost and the outermost of the callers that belong to the
// code under test, without the path of its package.
func inside(callers string, under []string) (innermost, outermost string) {
	for _, name := range strings.Split(callers, " < ") {
		for _, path := range under {
			if strings.HasPrefix(name, path+".") {
				name = name[strings.LastIndex(name, "/")+1:]
				if innermost == "" {
					innermost = name
				}
				outermost = name
			}
		}
	}
	return innermost, outermost
}
