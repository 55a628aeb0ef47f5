package explore

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// Branch is an instant of a run from which another seed draws everything.
type Branch struct {
	At   time.Duration
	Seed uint64
}

// Look is the set of states that a run was in at an instant.
type Look struct {
	At     time.Duration `json:"at"`
	States []string      `json:"states,omitempty"`
}

const (
	// looksEvery is the simulated time between two looks.
	looksEvery = 250 * time.Millisecond
	// branchesMax bounds the branches of a run, and energyMax the attempts from one place at a
	// time.
	branchesMax = 4
	energyMax   = 8
	// generation is how many seeds, and how many states, are tried before anything is learned:
	// attempts must not depend on how many others are in progress.
	generation = 4
)

// Branching resumes from states that runs have rarely reached, with other seeds. Every other group
// of attempts is a fresh run, so that there are always new states.
type Branching struct {
	next     uint64 // seed
	states   map[string]*rarity
	order    []*rarity // in the order of discovery
	groups   [][]Attempt
	underWay int // attempts whose outcome is pending
}

// rarity is what is known of a state: how many runs have reached it, the last of them and when, and
// how many groups have started from it.
type rarity struct {
	runs, groups int
	attempt      Attempt
	at           time.Duration
}

// NewBranching returns the strategy, with seeds from first on.
func NewBranching(first uint64) *Branching {
	return &Branching{next: first, states: map[string]*rarity{}}
}

// States returns how many states are known.
func (b *Branching) States() int { return len(b.order) }

// Next implements Strategy.
func (b *Branching) Next() []Attempt {
	if len(b.groups) == 0 && b.underWay == 0 {
		for range generation {
			b.add(Attempt{Seed: b.next, Observe: true, Looks: looksEvery})
			b.next++
			if rarest := b.rarest(); rarest != nil {
				b.add(rarest.branch()...)
			}
		}
	}
	if len(b.groups) == 0 {
		return nil
	}
	group := b.groups[0]
	b.groups = b.groups[1:]
	return group
}

func (b *Branching) add(group ...Attempt) {
	b.groups = append(b.groups, group)
	b.underWay += len(group)
}

// branch returns attempts from the state, twice as many as last time.
func (r *rarity) branch() []Attempt {
	r.groups++
	group := make([]Attempt, min(1<<r.groups, energyMax))
	for i := range group {
		branch := Branch{r.at, childSeed(r.attempt, r.at, r.groups, i)}
		group[i] = r.attempt
		group[i].Branches = append(slices.Clip(r.attempt.Branches), branch)
	}
	r.runs += len(group) // they begin in it
	return group
}

// rarest returns the state that the fewest runs have reached, the first found of several.
func (b *Branching) rarest() (rarest *rarity) {
	for _, state := range b.order {
		if rarest == nil || state.runs < rarest.runs {
			rarest = state
		}
	}
	return rarest
}

// childSeed is derived from the parent's seeds, the mark, and the index.
func childSeed(parent Attempt, at time.Duration, group, index int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, parent.Seed, parent.Branches, at, group, index)
	return h.Sum64()
}

// Learn counts the states that a run has reached. Only passing runs are worth branching from.
func (b *Branching) Learn(attempt Attempt, outcome Outcome) {
	b.underWay--
	if outcome.Failed {
		return
	}
	came := map[string]bool{}
	for _, look := range outcome.Looks {
		for _, state := range look.States {
			if came[state] {
				continue
			}
			came[state] = true
			known := b.states[state]
			if known == nil {
				known = &rarity{}
				b.states[state], b.order = known, append(b.order, known)
			}
			known.runs++
			if len(attempt.Branches) < branchesMax {
				known.attempt, known.at = attempt, look.At
			}
		}
	}
}

// Exhausted implements Strategy.
func (*Branching) Exhausted() string { return "" }
