package faults

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Kind is something that can go wrong.
type Kind struct {
	Name string
	// Doc says in one sentence what happens, and in another what must survive.
	Doc string
	// Parameters are all required, and printed in this order.
	Parameters []Parameter
	// MembersLeast is how many etcd members it takes, and MembersMost how many it can do
	// with, 0 for any number.
	MembersLeast, MembersMost int

	// begin makes the fault happen; the note says what a plan does not.
	begin func(context.Context, Surface, Fault) (note string, err error)
	// end heals a fault that lasts; nil for what is over at once. It must be
	// harmless where begin failed half-way.
	end func(context.Context, Surface, Fault) error
	// slow is whether end, or begin where there is no end, takes simulated time.
	slow bool
	// lastsMost bounds how long a drawn fault lasts, 0 for the usual bound.
	lastsMost time.Duration
	// waits is the point that a drawn fault waits for; "" for mostly none.
	waits string
	// settles is for how long after its end a fault that is not slow goes on
	// having effects.
	settles time.Duration
	// holds are what no two faults may act on at once: a process by its name, or
	// a property of a link or client.
	holds func(fault Fault, members []string) []string
}

// Lasts is whether faults of this kind have a duration.
func (k Kind) Lasts() bool { return k.end != nil }

// lacks says what number of etcd members it takes, if that is another one.
func (k Kind) lacks(members int) (expected string) {
	switch {
	case members < k.MembersLeast:
		return fmt.Sprintf("at least %d etcd members", k.MembersLeast)
	case k.MembersMost > 0 && members > k.MembersMost:
		return fmt.Sprintf("at most %d etcd members", k.MembersMost)
	}
	return ""
}

// settling is how long to leave between the end of a fault and the time by which
// it must have healed.
func (k Kind) settling() time.Duration {
	if k.slow {
		return settleTime
	}
	return k.settles
}

// Kinds are all kinds, in a fixed order: new ones come last, so that plans
// drawn from a seed change as little as possible.
func Kinds() []Kind { return slices.Clone(kinds) }

// Lookup finds a kind by its name.
func Lookup(name string) (Kind, bool) {
	at := slices.IndexFunc(kinds, func(kind Kind) bool { return kind.Name == name })
	if at < 0 {
		return Kind{}, false
	}
	return kinds[at], true
}

// kinds is assigned in init, because printing a fault looks its kind up.
var kinds []Kind

func init() {
	kinds = slices.Concat(etcdKinds(), networkKinds(), serverKinds(), consumerKinds(), hostKinds())
}

// Each kind says what it holds in the words of these functions.

func holdsNothing(Fault, []string) []string { return nil }

func holdsMember(fault Fault, _ []string) []string { return []string{fault.Member} }

func holdsServer(fault Fault, _ []string) []string { return []string{fault.Server} }

func holdsAllMembers(_ Fault, members []string) []string { return members }

func holdsUpstream(fault Fault, _ []string) []string {
	return []string{"what " + fault.Server + " reads"}
}

func holdsWatchStreams(fault Fault, _ []string) []string {
	return []string{"the watch streams of " + fault.Server}
}

func holdsRate(fault Fault, _ []string) []string { return []string{"the rate of " + link(fault)} }

// holdsPeerLatency holds the latencies between a member and all others.
func holdsPeerLatency(fault Fault, members []string) []string {
	var held []string
	for _, other := range members {
		if other != fault.Member {
			held = append(held, holdsLatency(Fault{From: fault.Member, To: other}, nil)...)
		}
	}
	return held
}

func holdsDisk(fault Fault, _ []string) []string { return []string{"the disk of " + fault.Member} }

func holdsClock(fault Fault, _ []string) []string {
	return []string{"the clock of " + fault.Host}
}

func holdsBothEnds(fault Fault, _ []string) []string { return []string{fault.From, fault.To} }

func holdsPace(fault Fault, _ []string) []string { return []string{"the pace of " + fault.Client} }

// holdsLink holds both directions, because they heal together.
func holdsLink(fault Fault, _ []string) []string {
	return []string{"the link of " + link(fault)}
}

func holdsLatency(fault Fault, _ []string) []string {
	return []string{"the latency of " + link(fault)}
}

// link names the two ends of a link whichever way round they were given.
func link(fault Fault) string {
	return min(fault.From, fault.To) + " and " + max(fault.From, fault.To)
}
