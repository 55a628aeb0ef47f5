package workload

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A client works in steps: a change of a writer, a read of a reader, a stream of a
// watcher, a write or list of the final writer, or the arrival of a reflector or
// informer, which then stays. Every workload records the steps it takes. A reduced
// workload takes a subset of the steps of a whole one.
//
// A step records how many random numbers its client had drawn before it. It therefore
// draws the same numbers whether or not the steps before it are taken, and makes the
// same requests except for what depends on responses.

// Part is what one client does in a reduced workload.
type Part struct {
	Client string `json:"client"`
	// Steps are in order.
	Steps []Step `json:"steps"`
	// Waits is the time of the step that the client was waiting for when the run ended,
	// and 0 if there was none. A client without steps was waiting for its first.
	Waits time.Duration `json:"waits,omitempty"`
}

// Step is one thing that a client does.
type Step struct {
	// Number counts the steps of the client in the whole workload, from 1. Numbers are
	// skipped where a step took several requests.
	Number int `json:"number"`
	// At is when the step begins unless the one before takes longer, as the time since
	// the start of the run, or since the final writer's own start.
	At time.Duration `json:"at"`
	// Draws is how many random numbers the client had drawn before the step.
	Draws int `json:"draws"`
}

// String formats the part as one line of a report.
func (p Part) String() string {
	var steps []string
	for _, step := range p.Steps {
		steps = append(steps, fmt.Sprintf("%d at %.3fs", step.Number, step.At.Seconds()))
	}
	return p.Client + ": " + strings.Join(steps, ", ")
}

// maxDraws bounds the random numbers that a step can skip. A client of the longest run
// draws far fewer.
const maxDraws = 1 << 24

// validateParts returns the first error that makes parts unusable. Like everything in
// this file it avoids maps: creating one draws from the run's random numbers, which
// would change whole runs.
func (c Config) validateParts() error {
	known := c.Clients()
	for index, part := range c.Parts {
		switch {
		case !slices.Contains(known, part.Client):
			return fmt.Errorf("workload: expected a part to be of one of the clients %v, found %q", known, part.Client)
		case slices.ContainsFunc(c.Parts[:index], func(p Part) bool { return p.Client == part.Client }):
			return fmt.Errorf("workload: expected one part of %s, found two", part.Client)
		case len(part.Steps) == 0 && part.Waits <= 0:
			return fmt.Errorf("workload: expected steps of %s, or one that it waits for, found none; leave the client out", part.Client)
		}
		for i, step := range part.Steps {
			if i > 0 && step.Number <= part.Steps[i-1].Number {
				return fmt.Errorf("workload: expected the steps of %s in order, found step %d after step %d",
					part.Client, step.Number, part.Steps[i-1].Number)
			}
			if step.Number < 1 || step.At < 0 || step.Draws < 0 || step.Draws > maxDraws {
				return fmt.Errorf("workload: expected a step of %s with a number above 0, a time of 0 or more and 0 to %d draws, found %+v",
					part.Client, maxDraws, step)
			}
		}
	}
	return nil
}

// part returns what a client is to do; nil means everything. It returns false if the
// client does nothing.
func (c Config) part(client string) (part *Part, ok bool) {
	if c.Parts == nil {
		return nil, true
	}
	i := slices.IndexFunc(c.Parts, func(p Part) bool { return p.Client == client })
	if i < 0 {
		return nil, false
	}
	return &c.Parts[i], true
}

// present returns the indices of the clients of one kind that have a part.
func (c Config) present(kind string, count int) []int {
	var present []int
	for i := range count {
		if _, ok := c.part(clientName(kind, i)); ok {
			present = append(present, i)
		}
	}
	return present
}

// Parts returns the steps that each client has taken, in the order of the
// configuration. Call it after Stop.
func (w *Workload) Parts() []Part {
	parts := make([]Part, 0, len(w.parts))
	for _, part := range w.parts {
		if len(part.Steps) > 0 || part.Waits > 0 {
			parts = append(parts, Part{Client: part.Client, Steps: slices.Clone(part.Steps), Waits: part.Waits})
		}
	}
	order := w.config.Clients()
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Compare(slices.Index(order, a.Client), slices.Index(order, b.Client))
	})
	return parts
}

// begin waits for the time of a step and records it. It returns false if ctx was done
// first.
func (c *client) begin(ctx context.Context, number int, at time.Duration) bool {
	draws := c.numbers.drawn
	c.taken.Waits = at
	if !sleep(ctx, time.Until(c.began.Add(at))) {
		return false
	}
	c.note(Step{Number: number, At: at, Draws: draws})
	return true
}

func (c *client) note(step Step) { c.taken.Steps, c.taken.Waits = append(c.taken.Steps, step), 0 }

// takePart takes the steps of the client's part, one after another, until ctx is done.
// It then waits as long as the client of the whole workload did.
func (c *client) takePart(ctx context.Context, take func(Step)) {
	for _, step := range c.part.Steps {
		c.numbers.seek(step.Draws)
		if !c.begin(ctx, step.Number, step.At) {
			return
		}
		take(step)
	}
	if c.part.Waits > 0 {
		c.taken.Waits = c.part.Waits
		sleep(ctx, time.Until(c.began.Add(c.part.Waits)))
	}
}

// numbers is a client's random stream that counts the numbers drawn. It implements rand.Source.
type numbers struct {
	open  func() *rand.Rand
	rest  *rand.Rand
	drawn int
}

func newNumbers(open func() *rand.Rand) *numbers { return &numbers{open: open, rest: open()} }

func (n *numbers) Uint64() uint64 {
	n.drawn++
	return n.rest.Uint64()
}

// seek moves to the position in the stream after the given number of draws.
func (n *numbers) seek(drawn int) {
	n.rest, n.drawn = n.open(), drawn
	for range drawn {
		n.rest.Uint64()
	}
}
