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
	// rateLeast is what passes the slowest link in a second, and rateDoublings how
	// many rates there are. The buffers of a connection, which is what may still be
	// under way when a slow link heals, pass in 4 s.
	rateLeast     int64 = 32 << 10
	rateDoublings       = 6
	// periodLeast and periodMost bound the history that etcd's compactor keeps.
	periodLeast = 200 * time.Millisecond
	periodMost  = 5 * time.Second
	// ttlMost bounds for how many seconds objects that expire are there.
	ttlMost = 4
	// jumpLeast and jumpMost bound by how much a wall clock jumps, and bumpMost by how
	// much a restore raises the revision.
	jumpLeast = time.Second
	jumpMost  = 24 * time.Hour
	bumpMost  = 1000
	// waitingMost is how many faults of a plan wait for points at most, and
	// waitLeast and waitMost how long they wait.
	waitingMost = 4
	waitLeast   = time.Second
	waitMost    = 20 * time.Second
	// waitOften is how long one waits at most whose kind always waits: its point is
	// one that is reached all the time.
	waitOften = 4 * time.Second
	// placementsMost is how often a fault is drawn anew because it clashes.
	placementsMost = 20
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
	chosen := chooseKinds(random, candidates, config.Every)
	// What waits takes most room, so it is placed first.
	slices.SortStableFunc(chosen, func(a, b Kind) int { return cmp.Compare(b.waits, a.waits) })
	counts := make([]int, len(chosen))
	for i := range counts {
		counts[i] = 1 + random.IntN(max(1, config.CountMost))
	}
	var plan Plan
	// Each kind gets its first fault before any gets its second: there may be no
	// room for all.
	for round := range max(1, config.CountMost) {
		for i, kind := range chosen {
			if round < counts[i] {
				plan = config.place(random, kind, plan, config.drawFirst)
			}
		}
	}
	if len(chosen) > 0 && len(config.Servers) > 0 {
		for range random.IntN(waitingMost + 1) {
			plan = config.place(random, pick(random, chosen), plan, config.drawWaiting)
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
		if kind.lacks(len(c.Members)) == "" && !slices.ContainsFunc(kind.Parameters, c.lacks) {
			candidates = append(candidates, kind)
		}
	}
	return candidates, nil
}

// lacks is whether the topology has nothing that the parameter could name.
func (c GeneratorConfig) lacks(parameter Parameter) bool {
	switch parameter.Name {
	case parameterMember.Name, parameterSurvivor.Name, parameterProcess.Name:
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
// is drawn first, so that many clients do not make faults behind them rare. The
// links between caches and etcd, where most can go wrong, are in two groups.
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
	for _, group := range [][][2]string{toEtcd, toEtcd, withinEtcd, toServers} {
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

// place adds a fault that clashes with none of the plan, if one can be found.
func (c GeneratorConfig) place(random *rand.Rand, kind Kind, plan Plan, draw func(*rand.Rand, Kind) (Fault, bool)) Plan {
	for range placementsMost {
		fault, ok := draw(random, kind)
		if !ok {
			return plan
		}
		if !slices.ContainsFunc(plan, func(other Fault) bool { return c.clash(fault, other) }) {
			return append(plan, fault)
		}
	}
	return plan
}

// drawFirst draws a fault as its kind usually begins.
func (c GeneratorConfig) drawFirst(random *rand.Rand, kind Kind) (Fault, bool) {
	if kind.waits != "" {
		return c.drawWaiting(random, kind)
	}
	return c.draw(random, kind)
}

// drawWaiting draws a fault that waits for a point, from its drawn time on and
// for as long as it can still heal in time.
func (c GeneratorConfig) drawWaiting(random *rand.Rand, kind Kind) (Fault, bool) {
	fault, ok := c.draw(random, kind)
	if !ok {
		return Fault{}, false
	}
	room := c.HealBy - fault.End() - kind.settling()
	if room < waitLeast {
		// It was drawn for the end; a little earlier there is time to wait.
		fault.At, room = fault.At-(waitLeast-room), waitLeast
	}
	point, most := pick(random, c.points()), waitMost
	if kind.waits != "" {
		point, _ = lookupPoint(kind.waits)
		most = waitOften
	}
	wait := min(drawBetween(random, waitLeast, most), room)
	if fault.At < c.Start {
		return Fault{}, false
	}
	fault.Point, fault.Number, fault.Until = point.Name, 1+random.IntN(point.often), fault.At+wait
	fault.Process = fault.Server
	if point.ofMember {
		fault.Process = fault.Member
	}
	if passing := c.passing(point.Name); fault.Process == "" {
		fault.Process = pick(random, passing)
	}
	return fault, true
}

// points are those that something of the topology gets to.
func (c GeneratorConfig) points() []Point {
	return slices.DeleteFunc(Points(), func(point Point) bool { return len(c.passing(point.Name)) == 0 })
}

// draw draws a fault that heals in time. It fails if there is no time for one.
func (c GeneratorConfig) draw(random *rand.Rand, kind Kind) (Fault, bool) {
	room := c.HealBy - c.Start - kind.settling()
	fault := Fault{Kind: kind.Name}
	if kind.Lasts() {
		if room < lastsLeast {
			return Fault{}, false
		}
		fault.Lasts = drawBetween(random, lastsLeast, min(cmp.Or(kind.lastsMost, lastsMost), room))
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
			switch random.IntN(8) {
			case 0:
				fault.Back = OldestKept
			case 1:
				fault.Back = LastDeletion
			case 2, 3, 4:
				fault.Back = 1 + random.Int64N(backMost)
			}
		case parameterRate.Name:
			fault.Rate = rateLeast << random.IntN(rateDoublings)
		case parameterPeriod.Name:
			fault.Period = drawBetween(random, periodLeast, periodMost)
		case parameterProcess.Name:
			fault.Host = pick(random, slices.Concat(c.Members, c.Servers))
		case parameterKeep.Name:
			fault.Keep = pick(random, []Keep{KeepNothing, KeepSome})
		case parameterBump.Name:
			if random.IntN(4) > 0 {
				fault.Bump = 1 + random.Int64N(bumpMost)
			}
		case parameterJump.Name:
			fault.Jump = drawBetween(random, jumpLeast, jumpMost)
			if random.IntN(2) == 0 {
				fault.Jump = -fault.Jump
			}
		case parameterTTL.Name:
			fault.TTL = time.Duration(1+random.IntN(ttlMost)) * time.Second
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
	_, shared := sharedHold(one, other, c.Members)
	return shared
}

// sharedHold returns the first thing that two faults both hold.
func sharedHold(one, other Fault, members []string) (name string, ok bool) {
	kindOne, _ := Lookup(one.Kind)
	kindOther, _ := Lookup(other.Kind)
	held := kindOther.holds(other, members)
	for _, name := range kindOne.holds(one, members) {
		if slices.Contains(held, name) {
			return name, true
		}
	}
	return "", false
}

func occupiedUntil(kind Kind, fault Fault) time.Duration { return fault.End() + kind.settling() }

func pick[T any](random *rand.Rand, choices []T) T { return choices[random.IntN(len(choices))] }

// drawBetween draws a duration whose order of magnitude, rather than whose
// length, is evenly distributed: short faults are as likely as long ones.
func drawBetween(random *rand.Rand, least, most time.Duration) time.Duration {
	doublings := bits.Len64(uint64(most / least)) // at least 1
	low := least << random.IntN(doublings)
	high := min(2*low, most)
	return low + time.Duration(random.Int64N(int64((high-low)/precision)+1))*precision
}
