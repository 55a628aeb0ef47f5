package faults

import (
	"fmt"
	"strings"
	"time"
)

// Fault is one line of a plan. Only the fields that its kind has parameters for
// are set. Faults compare with ==.
//
// A fault begins at a time or, if Point is set, when a process reaches that point
// within a span of time.
type Fault struct {
	// At is when the fault begins, or from when it waits for its point, since the start of the run.
	At time.Duration
	// Kind is the name of the fault's kind.
	Kind string

	// Point is what the fault waits for, "" for nothing: Process, an API server or an
	// etcd member, reaches it for the Number-th time after At, and before Until.
	Point   string
	Process string
	Number  int
	Until   time.Duration

	Member  string // an etcd member
	Server  string // an API server
	Client  string // a client that reads streams
	Program string // a program that uses the cluster
	Host    string // the machine of an etcd member or an API server
	// Resources selects those whose watches or requests a fault is about; see [Selects].
	Resources string
	// Code is the status code of a failed request.
	Code int
	// OneIn makes one request in this many fail, at random; 1 means all.
	OneIn int64
	// From and To are the two ends of a link, by the names of their processes.
	From, To string
	// Back is how many revisions below the current one a compaction is, or one of OldestKept and
	// LastDeletion.
	Back int64
	// Delay is added to each message or event, or is the most that is added to a request.
	Delay time.Duration
	// Rate is the bandwidth of a slow link or of watch streams, in bytes per second.
	Rate int64
	// Period is how much history etcd's own compactor retains, or the longest interval between two
	// deliveries of a watch.
	Period time.Duration
	// TTL is the time to live of objects that expire, in whole seconds.
	TTL time.Duration
	// Keep says which unsynced writes a failing disk keeps.
	Keep Keep
	// Bump is how much a restore adds to a member's revision.
	Bump int64
	// Jump is how far a wall clock jumps, forwards or back.
	Jump time.Duration
	// Lasts is how long the fault lasts; 0 if it is over at once.
	Lasts time.Duration
}

// Values of Fault.Back that are not counts.
const (
	// OldestKept is the oldest revision that a compaction can still discard.
	OldestKept int64 = -1
	// LastDeletion is the newest revision that deletes an object.
	LastDeletion int64 = -2
)

// End returns the latest time at which the fault should have healed, since the start of the run.
func (f Fault) End() time.Duration { return max(f.At, f.Until) + f.Lasts }

// String returns the fault as a line of a plan.
func (f Fault) String() string {
	when := fmt.Sprintf("at %v", f.At)
	if f.Point != "" {
		when = fmt.Sprintf("between %v and %v on %s", f.At, f.Until, f.arrival())
	}
	return strings.TrimSuffix(when+" "+f.Kind+" "+f.arguments(), " ")
}

// arrival says what a fault with a point waits for.
func (f Fault) arrival() string { return fmt.Sprintf("%s %d of %s", f.Point, f.Number, f.Process) }

// arguments returns the fault's parameters in the syntax of plans.
func (f Fault) arguments() string {
	kind, _ := Lookup(f.Kind)
	var words []string
	for _, parameter := range kind.Parameters {
		words = append(words, parameter.Name+"="+parameter.print(f))
	}
	return strings.Join(words, " ")
}
