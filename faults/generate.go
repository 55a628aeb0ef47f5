package faults

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// GeneratorConfig says what [Generate] may draw.
type GeneratorConfig struct {
	Topology

	// Kinds are the names of the kinds to draw from; nil means all. Kinds that are impossible in
	// the topology are left out.
	Kinds []string
	// Every makes every kind happen at least once, instead of a random subset.
	Every bool
	// Calm keeps about one in 2, 4, 8, 16 or 32 kinds, instead of one in 2, and none in half of the
	// plans that have a pattern. Some bugs need many concurrent faults; bugs in programs' own logic
	// often show only with few. The pattern can still use all kinds.
	Calm bool
	// MaxLasts bounds the duration of faults, by kind, instead of the kinds' own bounds.
	MaxLasts map[string]time.Duration
	// MaxCount is the largest number of faults of one kind.
	MaxCount int
	// Pattern arranges some of the faults; with "", all are independent.
	Pattern string
	// Late makes the watches of some programs lag all the time.
	Late bool
	// Start is when the first fault may begin and HealBy when the last must have
	// healed, both since the start of the run.
	Start, HealBy time.Duration
}

// The bounds of generated plans. Those of values are in parameter.go.
const (
	// precision keeps the times of plans readable.
	precision = time.Millisecond
	// minLasts and maxLasts bound the duration of a fault.
	minLasts = 50 * time.Millisecond
	maxLasts = 8 * time.Second
	// settleTime is kept free after an action that takes time, such as a start.
	settleTime = 2 * time.Second
	// maxWaiting is how many faults of a plan wait for points at most, unless more of one kind are
	// allowed; minWait and maxWait are how long they wait.
	maxWaiting = 4
	minWait    = time.Second
	maxWait    = 20 * time.Second
	// maxFrequentWait bounds the wait of a fault of a kind that always waits: its point is reached
	// often.
	maxFrequentWait = 4 * time.Second
	// maxCalm is by how many powers of two calm plans differ in the share of kinds.
	maxCalm = 5
	// maxPlacements is how often a fault is redrawn until it clashes with no other.
	maxPlacements = 20
)

// Generate draws a plan by swarm testing: each plan has a random subset of the kinds,
// and a random number of faults of each, so that plans differ more from each other than
// if all had a little of everything. No two faults of a plan clash, and all heal in time.
func Generate(random *rand.Rand, config GeneratorConfig) (Plan, error) {
	candidates, err := config.candidates()
	if err != nil {
		return nil, err
	}
	chosen := config.chooseKinds(random, candidates)
	// Kinds that wait need the most room, so they are placed first.
	slices.SortStableFunc(chosen, func(a, b Kind) int { return cmp.Compare(b.waits, a.waits) })
	counts := make([]int, len(chosen))
	for i := range counts {
		counts[i] = 1 + random.IntN(max(1, config.MaxCount))
	}
	plan, pattern := config.drawLate(random), config.drawPattern(random, candidates)
	for _, fault := range pattern {
		plan = config.add(plan, fault)
	}
	if config.Calm && len(pattern) > 0 && random.IntN(2) == 0 {
		chosen = nil
	}
	// Each kind gets its first fault before any gets its second: there may not be room for all.
	for round := range max(1, config.MaxCount) {
		for i, kind := range chosen {
			if round < counts[i] {
				plan = config.place(random, kind, plan, config.drawFirst)
			}
		}
	}
	if len(chosen) > 0 && len(config.Servers) > 0 {
		for range random.IntN(max(maxWaiting, config.MaxCount) + 1) {
			plan = config.place(random, pick(random, chosen), plan, config.drawWaiting)
		}
	}
	slices.SortStableFunc(plan, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return plan, nil
}

// candidates returns the requested kinds that are possible in this topology.
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
		// A parameter that names a process needs one to name.
		unnameable := func(p Parameter) bool { return p.processes != nil && len(p.processes(c.Topology)) == 0 }
		if kind.lacks(len(c.Members)) == "" && !slices.ContainsFunc(kind.Parameters, unnameable) {
			candidates = append(candidates, kind)
		}
	}
	return candidates, nil
}

// links returns the pairs of processes that communicate, in groups: a group is drawn first, so that
// faults behind the clients are not rare if there are many clients. The links between caches and
// etcd, where most can go wrong, count twice.
func (t Topology) links() (groups [][][2]string) {
	var toEtcd, withinEtcd, toServers [][2]string
	for _, server := range t.Servers {
		for _, member := range t.Members {
			toEtcd = append(toEtcd, [2]string{server, member})
		}
		for _, client := range t.Clients {
			toServers = append(toServers, [2]string{client, server})
		}
	}
	for i, one := range t.Members {
		for _, other := range t.Members[i+1:] {
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

// chooseKinds keeps each kind with a probability of one half, or less in calm plans, and at least
// one.
func (c GeneratorConfig) chooseKinds(random *rand.Rand, candidates []Kind) []Kind {
	if c.Every || len(candidates) == 0 {
		return candidates
	}
	oneIn := 2
	if c.Calm {
		oneIn <<= random.IntN(maxCalm)
	}
	var chosen []Kind
	for _, kind := range candidates {
		if random.IntN(oneIn) == 0 {
			chosen = append(chosen, kind)
		}
	}
	if chosen == nil {
		chosen = append(chosen, pick(random, candidates))
	}
	return chosen
}

// place adds a fault that clashes with none of the plan, if it finds one.
func (c GeneratorConfig) place(random *rand.Rand, kind Kind, plan Plan, draw func(*rand.Rand, Kind) (Fault, bool)) Plan {
	for range maxPlacements {
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

// drawFirst draws a fault that begins in the way that its kind usually does.
func (c GeneratorConfig) drawFirst(random *rand.Rand, kind Kind) (Fault, bool) {
	if kind.waits != "" {
		return c.drawWaiting(random, kind)
	}
	return c.draw(random, kind)
}

// drawWaiting draws a fault that waits for a point, from its drawn time and for as long as it can
// still heal in time.
func (c GeneratorConfig) drawWaiting(random *rand.Rand, kind Kind) (Fault, bool) {
	fault, ok := c.draw(random, kind)
	if !ok {
		return Fault{}, false
	}
	room := c.HealBy - fault.End() - kind.settling()
	if room < minWait {
		// It was drawn close to the end; a little earlier there is time to wait.
		fault.At, room = fault.At-(minWait-room), minWait
	}
	point, longest := pick(random, c.points()), maxWait
	if kind.waits != "" {
		point, _ = lookupPoint(kind.waits)
		longest = maxFrequentWait
	}
	wait := min(drawBetween(random, minWait, longest), room)
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

// points returns the points that some process of the topology reaches.
func (c GeneratorConfig) points() []Point {
	return slices.DeleteFunc(Points(), func(point Point) bool { return len(c.passing(point.Name)) == 0 })
}

// draw draws a fault that heals in time. It fails if there is no time left.
func (c GeneratorConfig) draw(random *rand.Rand, kind Kind) (Fault, bool) {
	room := c.HealBy - c.Start - kind.settling()
	fault := Fault{Kind: kind.Name}
	if kind.Lasts() {
		if room < minLasts {
			return Fault{}, false
		}
		fault.Lasts = drawBetween(random, minLasts, min(cmp.Or(c.MaxLasts[kind.Name], kind.maxLasts, maxLasts), room))
	}
	if room -= fault.Lasts; room < 0 {
		return Fault{}, false
	}
	fault.At = c.Start + time.Duration(random.Int64N(int64(room/precision)+1))*precision
	for _, parameter := range kind.Parameters {
		if parameter.draw != nil {
			parameter.draw(&fault, random, c.Topology)
		}
	}
	return fault, true
}

// clash reports whether two faults claim the same thing at the same time.
func (c GeneratorConfig) clash(one, other Fault) bool {
	if one.At > other.settled() || other.At > one.settled() {
		return false
	}
	_, shared := sharedClaim(one, other, c.Members)
	return shared
}

// sharedClaim returns the first thing that two faults both claim.
func sharedClaim(one, other Fault, members []string) (name string, ok bool) {
	claimed := other.claimed(members)
	for _, name := range one.claimed(members) {
		if slices.Contains(claimed, name) {
			return name, true
		}
	}
	return "", false
}

// settled returns when the effects of a fault have ended.
func (f Fault) settled() time.Duration {
	kind, _ := Lookup(f.Kind)
	return f.End() + kind.settling()
}

func pick[T any](random *rand.Rand, choices []T) T { return choices[random.IntN(len(choices))] }

// drawBetween draws a duration with a log-uniform distribution, so that short faults are as likely
// as long ones.
func drawBetween(random *rand.Rand, shortest, longest time.Duration) time.Duration {
	doublings := bits.Len64(uint64(longest / shortest)) // at least 1
	low := shortest << random.IntN(doublings)
	high := min(2*low, longest)
	return low + time.Duration(random.Int64N(int64((high-low)/precision)+1))*precision
}

// Plans draws plans in tests with rapid, which looks for fewer and shorter faults once a test
// fails. They have the faults of [Generate], without its patterns: some kinds, and up to MaxCount
// faults of each on average. It fails the test if the configuration names an unknown kind.
func Plans(config GeneratorConfig) *rapid.Generator[Plan] {
	return rapid.Custom(func(t *rapid.T) (plan Plan) {
		candidates, err := config.candidates()
		if err != nil {
			t.Fatal(err)
		}
		if len(candidates) == 0 {
			return nil
		}
		kinds := rapid.SliceOfNDistinct(rapid.SampledFrom(candidates), 1, -1, func(kind Kind) string { return kind.Name }).Draw(t, "kinds")
		drawn := rapid.Custom(func(t *rapid.T) (fault Fault) {
			random, kind, draw := rand.New(words{t}), rapid.SampledFrom(kinds).Draw(t, "kind"), config.drawFirst
			if len(config.Servers) > 0 && rapid.Bool().Draw(t, "waits") {
				draw = config.drawWaiting
			}
			fault, _ = draw(random, kind)
			return fault
		})
		for _, fault := range rapid.SliceOfN(drawn, 0, config.MaxCount*len(kinds)).Draw(t, "faults") {
			if fault.Kind != "" { // there is time for it
				plan = config.add(plan, fault)
			}
		}
		slices.SortStableFunc(plan, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
		return plan
	})
}

// words is a source of random numbers that rapid draws.
type words struct{ t *rapid.T }

// Uint64 implements rand.Source. Rapid prefers small numbers, but consumers use the high bits:
// reversing the bits lets a small number be any choice.
func (w words) Uint64() uint64 { return bits.Reverse64(rapid.Uint64().Draw(w.t, "")) }
