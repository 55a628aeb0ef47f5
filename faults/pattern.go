package faults

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// The patterns of a plan: arrangements of faults that independent draws rarely make.
const (
	// PatternRepeat repeats one fault again and again.
	PatternRepeat = "repeat"
	// PatternRotate repeats one fault on one process, or link, after another.
	PatternRotate = "rotate"
	// PatternChain repeats two faults, the second right after the first has begun.
	PatternChain = "chain"
	// PatternLag leaves one API server after another behind etcd for long, while clients switch to
	// another server: some find an older state than they have seen (time travel, kubernetes
	// #59848).
	PatternLag = "lag"
	// PatternStale stalls, for long, watches of some programs on some resources: these programs act on a state of which one
	// part is older than the others.
	PatternStale = "stale"
)

// Patterns are the names of the patterns that any topology can have. [PatternStale] needs programs.
func Patterns() []string { return []string{PatternRepeat, PatternRotate, PatternChain, PatternLag} }

// The bounds of patterns.
const (
	// maxRepeats bounds how often a pattern repeats its faults.
	maxRepeats = 16
	// minPause and maxPause bound the time between two repetitions.
	minPause = 100 * time.Millisecond
	maxPause = 4 * time.Second
	// maxAfter bounds how long after the first fault of a chain the second begins.
	maxAfter = 100 * time.Millisecond
	// minLag and maxLag bound how long a server lags, and minSwitchPause and maxLag how often
	// faults make clients switch meanwhile.
	minLag         = time.Second
	maxLag         = 30 * time.Second
	minSwitchPause = time.Second
)

// drawPattern draws the faults of the pattern, none if there is no pattern.
func (c GeneratorConfig) drawPattern(random *rand.Rand, candidates []Kind) (plan Plan) {
	if c.Pattern == "" || len(candidates) == 0 {
		return nil
	}
	switch c.Pattern {
	case PatternLag:
		return c.drawLags(random, candidates)
	case PatternStale:
		return c.drawStale(random, candidates)
	}
	draw := c.drawFirst
	if random.IntN(3) == 0 && len(c.Servers) > 0 {
		draw = c.drawWaiting // the same point again and again
	}
	first, ok := draw(random, pick(random, candidates))
	if !ok {
		return nil
	}
	var links [][2]string
	if groups := c.links(); len(groups) > 0 {
		links = pick(random, groups)
	}
	pause := drawBetween(random, minPause, maxPause)
	shift := c.Start - first.At // begin the pattern as early as possible
	for number := range 1 + random.IntN(maxRepeats) {
		fault := first.later(shift)
		if c.Pattern == PatternRotate {
			c.rotate(&fault, number, links)
		}
		if fault.settled() > c.HealBy {
			break
		}
		plan = c.add(plan, fault)
		if c.Pattern == PatternChain {
			if second, ok := c.draw(random, pick(random, candidates)); ok {
				plan = c.add(plan, second.later(fault.At+drawBetween(random, precision, maxAfter)-second.At))
			}
		}
		shift = fault.settled() + pause - first.At
	}
	return plan
}

// drawLags draws the faults of PatternLag.
func (c GeneratorConfig) drawLags(random *rand.Rand, candidates []Kind) (plan Plan) {
	lagging := slices.DeleteFunc(slices.Clone(candidates), func(kind Kind) bool { return !kind.lags })
	switching := slices.DeleteFunc(slices.Clone(candidates), func(kind Kind) bool { return !kind.switches })
	forgetting := slices.DeleteFunc(slices.Clone(candidates), func(kind Kind) bool { return !kind.forgets })
	if len(lagging) == 0 || len(switching) == 0 {
		return nil
	}
	for began := c.Start; began+minLag <= c.HealBy; began += drawBetween(random, minPause, maxPause) {
		lag, ok := c.draw(random, pick(random, lagging))
		if !ok {
			return plan
		}
		lag.At, lag.Lasts = began, drawBetween(random, minLag, min(maxLag, c.HealBy-began))
		plan = c.add(plan, lag)
		pause := drawBetween(random, minSwitchPause, maxLag)
		for at := began + drawBetween(random, precision, pause); at < lag.End(); at += pause {
			kinds := switching
			// Only a client that has forgotten what it had seen believes a server that lags.
			if len(forgetting) > 0 && random.IntN(2) == 0 {
				kinds = forgetting
			}
			other, ok := c.draw(random, pick(random, kinds))
			if ok && other.Server != lag.Server {
				plan = c.add(plan, other.later(at-other.At))
			}
		}
		began = lag.End()
	}
	return plan
}

// drawStale draws the faults of PatternStale: for each program with a probability of one half, one stall after another, each
// either until the end or shorter, with equal probability.
func (c GeneratorConfig) drawStale(random *rand.Rand, candidates []Kind) (plan Plan) {
	i := slices.IndexFunc(candidates, func(kind Kind) bool { return kind.Name == watchStall })
	if i < 0 {
		return nil
	}
	for _, program := range c.Programs {
		if random.IntN(2) == 0 {
			continue
		}
		for at := c.Start; at+minLag <= c.HealBy; at += drawBetween(random, minPause, maxPause) {
			stall := Fault{Kind: watchStall, Program: program, Resources: drawResources(random), At: at, Lasts: min(candidates[i].maxLasts, c.HealBy-at)}
			if random.IntN(2) == 0 {
				stall.Lasts = drawBetween(random, minLag, stall.Lasts)
			}
			plan = c.add(plan, stall)
			at = stall.End()
		}
	}
	return plan
}

// drawLate makes the watches of each program lag with a probability of one half.
func (c GeneratorConfig) drawLate(random *rand.Rand) (plan Plan) {
	if !c.Late {
		return nil
	}
	kind, _ := Lookup(watchLag)
	for _, program := range c.Programs {
		lag, ok := c.draw(random, kind)
		if ok && random.IntN(2) == 0 {
			lag.Program, lag.At, lag.Lasts = program, c.Start, min(kind.maxLasts, c.HealBy-c.Start)
			plan = c.add(plan, lag)
		}
	}
	return plan
}

// add adds a fault to a plan unless it clashes with another one or does not heal in time.
func (c GeneratorConfig) add(plan Plan, fault Fault) Plan {
	if fault.settled() > c.HealBy || slices.ContainsFunc(plan, func(other Fault) bool { return c.clash(fault, other) }) {
		return plan
	}
	return append(plan, fault)
}

// later returns the fault moved to a later time.
func (f Fault) later(by time.Duration) Fault {
	f.At += by
	if f.Point != "" {
		f.Until += by
	}
	return f
}

// rotate moves a fault to the next process, or link.
func (c GeneratorConfig) rotate(fault *Fault, number int, links [][2]string) {
	kind, _ := Lookup(fault.Kind)
	waitsThere := fault.Process == fault.Server || fault.Process == fault.Member
	for _, parameter := range kind.Parameters {
		switch {
		case parameter.processes == nil:
		case parameter.Name == parameterFrom.Name:
			fault.From = links[number%len(links)][0]
		case parameter.Name == parameterTo.Name:
			fault.To = links[number%len(links)][1]
		default:
			processes := parameter.processes(c.Topology)
			parameter.parse(fault, processes[number%len(processes)])
		}
	}
	if fault.Point != "" && waitsThere {
		fault.Process = cmp.Or(fault.Server, fault.Member)
	}
}
