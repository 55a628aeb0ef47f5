package faults

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"
)

// GeneratorConfig says what [Generate] may draw.
type GeneratorConfig struct {
	Topology

	// Kinds are the names of the kinds to draw from; nil means all. Those that
	// the topology has no room for are left out.
	Kinds []string
	// Every makes every kind happen at least once, instead of a random subset.
	Every bool
	// CountMost is how many faults of one kind there are at most.
	CountMost int
	// Start is when the first fault may begin and HealBy when the last must have
	// healed, both since the start of the run.
	Start, HealBy time.Duration
}

// The bounds of what is drawn.
const (
	// precision keeps the times of plans readable.
	precision = time.Millisecond
	// lastsLeast and lastsMost bound the duration of a fault.
	lastsLeast = 50 * time.Millisecond
	lastsMost  = 8 * time.Second
	// settleTime is kept free after an action that takes time, such as a start.
	settleTime = 2 * time.Second
	// latencyLeast to latencyMost is what a slow link adds to each message, and
	// consumerDelayLeast to consumerDelayMost a slow consumer to each event.
	latencyLeast       = 5 * time.Millisecond
	latencyMost        = 2 * time.Second
	consumerDelayLeast = 10 * time.Millisecond
	consumerDelayMost  = time.Second
	// backMost is how far below the current revision a compaction is at most.
	backMost = 50
	// placementsMost is how often a fault is drawn anew because it clashes.
	placementsMost = 10
)

// Generate draws a plan in the manner of swarm testing: each plan has a random
// subset of the kinds, each as often as a number drawn for this plan, so that
// plans differ more from each other than if all had a little of everything. No
// two faults of a plan clash, and all heal in time.
func Generate(random *rand.Rand, config GeneratorConfig) (Plan, error) {
	candidates, err := config.candidates()
	if err != nil {
		return nil, err
	}
	var plan Plan
	for _, kind := range chooseKinds(random, candidates, config.Every) {
		for range 1 + random.IntN(max(1, config.CountMost)) {
			if fault, ok := config.place(random, kind, plan); ok {
				plan = append(plan, fault)
			}
		}
	}
	slices.SortStableFunc(plan, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return plan, nil
}

// candidates are the kinds asked for that this topology has room for.
func (c GeneratorConfig) candidates() ([]Kind, error) {
	for _, name := range c.Kinds {
		if _, ok := Lookup(name); !ok {
			return nil, fmt.Errorf("faults: expected one of the kinds %s, found %q", kindNames(), name)
		}
	}
	var candidates []Kind
	for _, kind := range kinds {
		if c.Kinds != nil && !slices.Contains(c.Kinds, kind.Name) {
			continue
		}
		if len(c.Members) >= kind.MembersLeast && !slices.ContainsFunc(kind.Parameters, c.lacks) {
			candidates = append(candidates, kind)
		}
	}
	return candidates, nil
}

// lacks is whether the topology has nothing that the parameter could name.
func (c GeneratorConfig) lacks(parameter Parameter) bool {
	switch parameter.Name {
	case parameterMember.Name, parameterSurvivor.Name:
		return len(c.Members) == 0
	case parameterServer.Name:
		return len(c.Servers) == 0
	case parameterClient.Name:
		return len(c.Consumers) == 0
	case parameterFrom.Name, parameterTo.Name:
		return len(c.links()) == 0
	}
	return false
}

// links are the pairs of processes that talk to each other, in groups: a group
// is drawn first, so that many clients do not make faults behind them rare.
func (c GeneratorConfig) links() (groups [][][2]string) {
	var toEtcd, withinEtcd, toServers [][2]string
	for _, server := range c.Servers {
		for _, member := range c.Members {
			toEtcd = append(toEtcd, [2]string{server, member})
		}
		for _, client := range c.Clients {
			toServers = append(toServers, [2]string{client, server})
		}
	}
	for i, one := range c.Members {
		for _, other := range c.Members[i+1:] {
			withinEtcd = append(withinEtcd, [2]string{one, other})
		}
	}
	for _, group := range [][][2]string{toEtcd, withinEtcd, toServers} {
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// chooseKinds keeps each kind with a probability of one half, and at least one.
func chooseKinds(random *rand.Rand, candidates []Kind, every bool) []Kind {
	if every || len(candidates) == 0 {
		return candidates
	}
	var chosen []Kind
	for _, kind := range candidates {
		if random.IntN(2) == 0 {
			chosen = append(chosen, kind)
		}
	}
	if chosen == nil {
		chosen = append(chosen, pick(random, candidates))
	}
	return chosen
}

// place draws a fault that clashes with none of the plan.
func (c GeneratorConfig) place(random *rand.Rand, kind Kind, plan Plan) (Fault, bool) {
	for range placementsMost {
		fault, ok := c.draw(random, kind)
		if !ok {
			return Fault{}, false
		}
		if !slices.ContainsFunc(plan, func(other Fault) bool { return c.clash(fault, other) }) {
			return fault, true
		}
	}
	return Fault{}, false
}

// draw draws a fault that heals in time. It fails if there is no time for one.
func (c GeneratorConfig) draw(random *rand.Rand, kind Kind) (Fault, bool) {
	room := c.HealBy - c.Start
	if kind.slow {
		room -= settleTime
	}
	fault := Fault{Kind: kind.Name}
	if kind.Lasts() {
		if room < lastsLeast {
			return Fault{}, false
		}
		fault.Lasts = drawBetween(random, lastsLeast, min(lastsMost, room))
	}
	if room -= fault.Lasts; room < 0 {
		return Fault{}, false
	}
	fault.At = c.Start + time.Duration(random.Int64N(int64(room/precision)+1))*precision
	for _, parameter := range kind.Parameters {
		switch parameter.Name {
		case parameterMember.Name, parameterSurvivor.Name:
			fault.Member = pick(random, c.Members)
		case parameterServer.Name:
			fault.Server = pick(random, c.Servers)
		case parameterClient.Name:
			fault.Client = pick(random, c.Consumers)
		case parameterFrom.Name:
			// Both ends of a link are drawn together.
			link := pick(random, pick(random, c.links()))
			end := random.IntN(2)
			fault.From, fault.To = link[end], link[1-end]
		case parameterRevision.Name:
			if random.IntN(2) == 0 {
				fault.Back = 1 + random.Int64N(backMost)
			}
		case parameterDelay.Name:
			if fault.Client != "" {
				fault.Delay = drawBetween(random, consumerDelayLeast, consumerDelayMost)
			} else {
				fault.Delay = drawBetween(random, latencyLeast, latencyMost)
			}
		}
	}
	return fault, true
}

// clash is whether two faults hold the same at the same time.
func (c GeneratorConfig) clash(one, other Fault) bool {
	kindOne, _ := Lookup(one.Kind)
	kindOther, _ := Lookup(other.Kind)
	if one.At > occupiedUntil(kindOther, other) || other.At > occupiedUntil(kindOne, one) {
		return false
	}
	held := kindOther.holds(other, c.Members)
	return slices.ContainsFunc(kindOne.holds(one, c.Members), func(name string) bool { return slices.Contains(held, name) })
}

func occupiedUntil(kind Kind, fault Fault) time.Duration {
	if kind.slow {
		return fault.End() + settleTime
	}
	return fault.End()
}

func pick[T any](random *rand.Rand, choices []T) T { return choices[random.IntN(len(choices))] }

// drawBetween draws a duration whose order of magnitude, rather than whose
// length, is evenly distributed: short faults are as likely as long ones.
func drawBetween(random *rand.Rand, least, most time.Duration) time.Duration {
	doublings := bits.Len64(uint64(most / least)) // at least 1
	low := least << random.IntN(doublings)
	high := min(2*low, most)
	return low + time.Duration(random.Int64N(int64((high-low)/precision)+1))*precision
}
