package workload

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Config defines the clients, the objects they use and the length of a run. Start from
// [DefaultConfig].
type Config struct {
	// Duration is the simulated length of a run. Quiet is its final part, in which nobody
	// writes and liveness is checked.
	Duration, Quiet time.Duration

	// Writing is how long clients write; 0 means until faults have healed, followed by
	// the final writer's last writes. A cache that re-establishes its watch after the
	// last write gets no events.
	Writing time.Duration

	// Operations is how many requests the writers and readers make together. Lists of reflectors,
	// watchers and informers are extra.
	Operations int

	// The number of clients of each kind.
	Writers, Readers, Reflectors, Watchers, Informers int

	// StalledWatchers is the number of clients that open one stream after another and
	// stop reading each after a few events. Unlike other consumers, they do not resume
	// when faults heal.
	StalledWatchers int

	// Flood is how many writes follow some time after faults have healed. They show whether
	// stalled watchers delay other clients when nothing else is wrong.
	Flood int

	// Namespaces, Names, Nodes and Labels are the parts of objects. Every name exists in every
	// namespace; fewer names mean more contention.
	Namespaces, Names, Nodes []string
	Labels                   []Label

	// Mix is what writers do, and Initial how many objects are created at the beginning,
	// besides the Operations.
	Mix     string
	Initial int

	// Selectors is what lists and watches select by: SelectNone, SelectLabels,
	// SelectFields or SelectAll; "" is some of everything.
	Selectors string

	// HandlerDelay is how long an informer's handlers take for each notification.
	HandlerDelay time.Duration

	// Bursts is how many times in a run several clients send requests at once, so that
	// they race.
	Bursts int

	// OperationTimeout is how long a client waits for a response or for a watch to
	// open.
	OperationTimeout time.Duration

	// Roaming makes informers switch servers after a failure and when a server ends their stream,
	// as behind a load balancer.
	Roaming bool
	// WatchTimeout bounds the timeouts that clients request for their watches, where
	// the client does not end the watch itself; 0 means that they request none.
	WatchTimeout time.Duration

	// Remember is how many resourceVersions a client remembers, and MaxPageLimit the
	// largest limit of a list that is read in pages.
	Remember     int
	MaxPageLimit int64

	// PlainLists disables streaming lists, for API servers that do not support them.
	PlainLists bool

	// Script is what scripted clients do, line by line, in addition to all other clients.
	Script []ScriptLine

	// Parts are what is left of a reduced workload; clients without a part do nothing.
	// Nil is the whole workload.
	Parts []Part
}

// Label is a label that objects carry with one of Values, or not at all.
type Label struct {
	Key    string
	Values []string
}

// The bounds of a workload that no run needs to change.
const (
	// maxLastWrites is how long the final writer tries to write, and then how long it
	// tries to read the writes back.
	maxLastWrites = 10 * time.Second
	// maxStop is how long Stop waits for clients after cancelling their calls.
	maxStop = 10 * time.Second
	// maxConverge is how long Converge waits for informers; convergePause is its
	// polling interval.
	maxConverge   = 3 * time.Minute
	convergePause = 500 * time.Millisecond
	// convergeSettle is longer than any stall of a goroutine.
	convergeSettle = 5 * time.Second
	// maxPages is how many pages of a list a client reads before it gives up.
	maxPages = 64
	// maxStream bounds how long a client keeps a stream that it will cancel itself.
	maxStream = 20 * time.Second
	// firstBackoff and maxBackoff bound how long a client waits after a failure; the wait
	// doubles each time.
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 3 * time.Second
	// floodDelay is when the flood begins after faults have healed, and floodPause bounds the
	// pause between two of its writes.
	floodDelay = 15 * time.Second
	floodPause = 100 * time.Millisecond
)

// DefaultConfig returns a run of 60 simulated seconds with about 200 operations.
func DefaultConfig() Config {
	return Config{
		Duration:   60 * time.Second,
		Quiet:      15 * time.Second,
		Operations: 200,
		Writers:    4,
		Readers:    2,
		Reflectors: 2,
		Watchers:   3,
		Informers:  1,
		Namespaces: []string{"blue", "green", "red"},
		Names:      []string{"a", "b", "c", "d"},
		Nodes:      []string{"node-0", "node-1"},
		Labels: []Label{
			{Key: "app", Values: []string{"api", "web"}},
			{Key: "tier", Values: []string{"back", "front"}},
		},
		Bursts:           6,
		Remember:         32,
		MaxPageLimit:     5,
		OperationTimeout: 5 * time.Second,
	}
}

// Active returns how long writers and readers work: the run without its quiet phase.
func (c Config) Active() time.Duration { return c.Duration - c.Quiet }

// writing returns how long writers work.
func (c Config) writing() time.Duration {
	if c.Writing > 0 {
		return c.Writing
	}
	return c.Active()
}

// maxFlood returns how long the flood can take if requests time out.
func (c Config) maxFlood() time.Duration {
	if c.Flood == 0 {
		return 0
	}
	return floodDelay + time.Duration(c.Flood)*(floodPause+c.OperationTimeout)
}

// Validate returns all errors of a Config.
func (c Config) Validate() error {
	var problems []error
	expect := func(ok bool, format string, arguments ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("workload: "+format, arguments...))
		}
	}
	expect(c.Active() > 0, "the duration must exceed the quiet phase; found %v and %v", c.Duration, c.Quiet)
	expect(c.Writing >= 0 && c.Writing <= max(0, c.Active()), "writers may work for up to %v, when faults have healed; found %v", c.Active(), c.Writing)
	expect(c.Writing == 0 || c.Flood == 0, "a flood comes when faults have healed, and after %v nobody is to write; found %d writes in it", c.Writing, c.Flood)
	expect(c.Operations >= 0, "the number of operations must not be negative; found %d", c.Operations)
	for _, count := range []int{c.Writers, c.Readers, c.Reflectors, c.Watchers, c.Informers, c.StalledWatchers, c.Flood, c.Bursts, c.Initial} {
		expect(count >= 0, "a number of clients or bursts must not be negative; found %d", count)
	}
	expect(len(c.Namespaces) > 0 && len(c.Names) > 0, "objects need at least one namespace and one name")
	for _, label := range c.Labels {
		expect(label.Key != "" && len(label.Values) > 0, "a label needs a key and values; found %+v", label)
	}
	expect(c.OperationTimeout > 0, "the operation timeout must be positive; found %v", c.OperationTimeout)
	expect(c.Remember > 0 && c.MaxPageLimit > 0, "clients need to remember at least one RV, and a largest limit of at least 1; found %d and %d", c.Remember, c.MaxPageLimit)
	expect(c.WatchTimeout == 0 || c.WatchTimeout >= time.Second, "the longest timeout of a watch must be a second or more; found %v", c.WatchTimeout)
	if len(problems) == 0 {
		return errors.Join(c.validateScript(), c.validateParts())
	}
	return errors.Join(problems...)
}

// Clients returns the names of all clients, in a fixed order.
func (c Config) Clients() []string {
	return slices.Concat(
		clientNames("writer", c.Writers), clientNames("reader", c.Readers), c.Consumers(),
		clientNames("sleeper", c.StalledWatchers), clientNames("loader", c.loaders()), c.scriptedOnly(), []string{FinalWriter})
}

// Consumers returns, in a fixed order, the names of the clients that read streams and
// that a fault can slow down or stall.
func (c Config) Consumers() []string {
	return slices.Concat(
		clientNames("reflector", c.Reflectors), clientNames("watcher", c.Watchers), clientNames("informer", c.Informers),
		c.scripted(true))
}

// FinalWriter is the client that makes the last writes. It also names the client's
// random stream; renaming it would change every run.
const FinalWriter = "closer"

func clientName(kind string, index int) string { return fmt.Sprintf("%s-%d", kind, index) }

func clientNames(kind string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = clientName(kind, i)
	}
	return names
}
