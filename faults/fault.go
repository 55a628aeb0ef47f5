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
	// At is when the fault begins, or from when on it waits for its point, since
	// the start of the run.
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
	Host    string // an etcd member or an API server, by its machine
	// Watches are which watches of a program, as [Watches] has them.
	Watches string
	// Code is the status code of a failed request.
	Code int
	// OneIn has one in so many requests fail, at random; 1 is all.
	OneIn int64
	// From and To are the two ends of a link, by the names of their processes.
	From, To string
	// Back is how far below the current revision a compaction is, or one of
	// OldestKept and LastDeletion.
	Back int64
	// Delay is added to each message or event.
	Delay time.Duration
	// Rate is the bandwidth of a slow link or of watch streams, in bytes per second.
	Rate int64
	// Period is how much history etcd's own compactor retains, or the longest time between
	// two deliveries of a watch.
	Period time.Duration
	// TTL is the time to live of objects that expire, in whole seconds.
	TTL time.Duration
	// Keep is what a failing disk keeps of what was not synced.
	Keep Keep
	// Bump is by how much a restore raises a member's revision.
	Bump int64
	// Jump is by how much a wall clock is moved, either way.
	Jump time.Duration
	// Lasts is how long the fault lasts; 0 if it is over at once.
	Lasts time.Duration
}

// Values of Fault.Back that are not distances.
const (
	// OldestKept is the oldest revision that a compaction can still discard.
	OldestKept int64 = -1
	// LastDeletion is the newest revision that deletes an object.
	LastDeletion int64 = -2
)

// End returns when the fault should have healed at the latest, since the start of the
// run.
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

// arguments returns the fault's parameters as a plan has them.
func (f Fault) arguments() string {
	kind, _ := Lookup(f.Kind)
	var words []string
	for _, parameter := range kind.Parameters {
		words = append(words, parameter.Name+"="+parameter.print(f))
	}
	return strings.Join(words, " ")
}
