package faults

import (
	"context"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// Kind is something that can go wrong.
type Kind struct {
	Name string
	// Doc says in one sentence what happens, and in another what must still hold.
	Doc string
	// Parameters are all required, and printed in this order.
	Parameters []Parameter
	// MinMembers and MaxMembers bound the number of etcd members that the kind works
	// with; a MaxMembers of 0 is no bound.
	MinMembers, MaxMembers int

	// begin makes the fault happen; the note adds what the plan does not say.
	begin func(action) (note string, err error)
	// end heals a fault that lasts; nil if it does not last. It must be harmless after a begin that
	// failed half-way.
	end func(action) error
	// slow reports whether end, or begin where there is no end, takes simulated time.
	slow bool
	// maxLasts bounds the duration of a drawn fault, 0 for the usual bound.
	maxLasts time.Duration
	// waits is the point that a drawn fault waits for; "" if most do not wait.
	waits string
	// settles is how long a fault that is not slow has effects after its end.
	settles time.Duration
	// lags means that it leaves an API server behind etcd while that keeps answering, switches that
	// clients switch to another API server, and forgets that those clients have also forgotten what
	// they had seen.
	lags, switches, forgets bool
	// claims returns what only one fault at a time may act on: a process by its name, or a property
	// of a link or client. If it is nil, those are the processes that the parameters name.
	claims func(fault Fault, members []string) []string
}

// action is the beginning or the end of a fault, on a cluster.
type action struct {
	ctx context.Context
	Surface
	Fault
}

// Lasts reports whether faults of this kind have a duration.
func (k Kind) Lasts() bool { return k.end != nil }

// lacks says how many etcd members the kind needs, "" if the number is right.
func (k Kind) lacks(members int) (expected string) {
	switch {
	case members < k.MinMembers:
		return "at least " + model.Plural(k.MinMembers, "etcd member")
	case k.MaxMembers > 0 && members > k.MaxMembers:
		return "at most " + model.Plural(k.MaxMembers, "etcd member")
	}
	return ""
}

// claimed returns what a fault claims.
func (f Fault) claimed(members []string) []string {
	if kind, _ := Lookup(f.Kind); kind.claims != nil {
		return kind.claims(f, members)
	}
	return f.named()
}

// named returns the processes that a fault names.
func (f Fault) named() (names []string) {
	kind, _ := Lookup(f.Kind)
	for _, parameter := range kind.Parameters {
		if parameter.processes != nil {
			names = append(names, parameter.print(f))
		}
	}
	return names
}

// settling returns how much time to leave between the end of a fault and the time by which it must
// have healed.
func (k Kind) settling() time.Duration {
	if k.slow {
		return settleTime
	}
	return k.settles
}

// Kinds returns all kinds, in a fixed order: new ones are appended, so that plans drawn from a seed
// change as little as possible.
func Kinds() []Kind { return slices.Clone(kinds) }

// Lookup finds a kind by its name.
func Lookup(name string) (Kind, bool) {
	at := slices.IndexFunc(kinds, func(kind Kind) bool { return kind.Name == name })
	if at < 0 {
		return Kind{}, false
	}
	return kinds[at], true
}

var kinds = slices.Concat(etcdKinds(), networkKinds(), serverKinds(), hostKinds(), slowKinds(), programKinds())

func kindNames() string {
	return listed(kinds, func(kind Kind) string { return kind.Name })
}

// claim returns the claims of a kind that claims one thing.
func claim(what func(Fault) string) func(Fault, []string) []string {
	return func(fault Fault, _ []string) []string { return []string{what(fault)} }
}

// The claims that several kinds share.
var (
	claimsUpstream     = claim(func(f Fault) string { return "what " + f.Server + " reads" })
	claimsWatchStreams = claim(func(f Fault) string { return "the watch streams of " + f.Server })
	claimsPace         = claim(func(f Fault) string { return "the pace of " + f.Client })
	claimsLatency      = claim(func(f Fault) string { return "the latency of " + link(f.From, f.To) })
	// Both directions of a link heal together.
	claimsLink = claim(func(f Fault) string { return "the link of " + link(f.From, f.To) })
)

func claimsNothing(Fault, []string) []string { return nil }

func claimsAllMembers(_ Fault, members []string) []string { return members }

// link names a link by its two ends, in either order.
func link(one, other string) string { return min(one, other) + " and " + max(one, other) }
