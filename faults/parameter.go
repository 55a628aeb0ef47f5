package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter is a named value of a fault. Every parameter of a kind is required.
type Parameter struct {
	Name string
	// Expects describes a valid value, as in "expected ... after delay=".
	Expects string

	// print returns the value in the syntax of plans.
	print func(Fault) string
	// parse sets the value and reports whether the text is valid.
	parse func(*Fault, string) bool
	// draw sets a random value; nil if another parameter or the generator sets it.
	draw func(*Fault, *rand.Rand, Topology)
	// processes returns the processes that the value may name; nil if it names none.
	processes func(Topology) []string
}

// The parameters that name processes.
var (
	parameterMember = processParameter("member", "the name of an etcd member",
		func(f *Fault) *string { return &f.Member }, members)
	parameterSurvivor = processParameter("survivor", "the name of the etcd member that stays up",
		func(f *Fault) *string { return &f.Member }, members)
	parameterServer = processParameter("server", "the name of an API server",
		func(f *Fault) *string { return &f.Server }, func(t Topology) []string { return t.Servers })
	parameterCertified = processParameter("server", "the name of an API server that serves HTTPS",
		func(f *Fault) *string { return &f.Server }, func(t Topology) []string { return t.Certified })
	parameterClient = processParameter("client", "the name of a client that reads streams",
		func(f *Fault) *string { return &f.Client }, func(t Topology) []string { return t.Consumers })
	parameterProgram = processParameter("program", "the name of a program that uses the cluster",
		func(f *Fault) *string { return &f.Program }, func(t Topology) []string { return t.Programs })
	parameterProcess = processParameter("process", "the name of an etcd member, an API server, or a program",
		func(f *Fault) *string { return &f.Host }, func(t Topology) []string { return slices.Concat(t.Members, t.Servers, t.Programs) })
	// Drawing from also draws to: they are the two ends of one link.
	parameterFrom = Parameter{
		Name: "from", Expects: parameterTo.Expects, print: func(f Fault) string { return f.From }, processes: linked,
		parse: func(f *Fault, text string) bool { f.From = text; return text != "" },
		draw: func(f *Fault, random *rand.Rand, t Topology) {
			link := pick(random, pick(random, t.links()))
			end := random.IntN(2)
			f.From, f.To = link[end], link[1-end]
		},
	}
	parameterTo = Parameter{
		Name: "to", Expects: "the name of a process", print: func(f Fault) string { return f.To }, processes: linked,
		parse: func(f *Fault, text string) bool { f.To = text; return text != "" },
	}
)

// The parameters that say how much and for how long.
var (
	parameterFor  = durationParameter("for", func(f *Fault) *time.Duration { return &f.Lasts }, 0, 0)
	parameterDown = durationParameter("down", func(f *Fault) *time.Duration { return &f.Lasts }, 0, 0)
	// A delay is added to each message, or to each event that a consumer reads.
	parameterDelay         = durationParameter("delay", delay, 5*time.Millisecond, maxLatency)
	parameterConsumerDelay = durationParameter("delay", delay, 10*time.Millisecond, time.Second)
	parameterPeriod        = durationParameter("period", period, 200*time.Millisecond, 5*time.Second)
	parameterEvery         = durationParameter("every", period, 200*time.Millisecond, time.Minute)

	parameterRate = newParameter("rate", "a number of bytes per second above zero", func(f *Fault) *int64 { return &f.Rate },
		func(text string) (int64, bool) { return parseCount(text, 1, 63) },
		// 32 KiB/s to 1 MiB/s. A connection's buffers, which may still be full when the link
		// heals, drain in 4 s at the slowest.
		func(random *rand.Rand) int64 { return 32 << 10 << random.IntN(6) })
	parameterStreamRate = newParameter(parameterRate.Name, parameterRate.Expects, func(f *Fault) *int64 { return &f.Rate },
		func(text string) (int64, bool) { return parseCount(text, 1, 63) },
		// 256 B/s to 32 KiB/s: from one event a second to more than most runs write.
		func(random *rand.Rand) int64 { return 256 << random.IntN(8) })
	parameterKeep = newParameter("keep", "nothing or some", func(f *Fault) *Keep { return &f.Keep },
		func(text string) (Keep, bool) { return Keep(text), slices.Contains(keeps, Keep(text)) },
		func(random *rand.Rand) Keep { return pick(random, keeps) })
	parameterBump = newParameter("bump", "a number of revisions, 0 for none", func(f *Fault) *int64 { return &f.Bump },
		func(text string) (int64, bool) { return parseCount(text, 0, 32) },
		func(random *rand.Rand) int64 {
			if random.IntN(4) == 0 {
				return 0
			}
			return 1 + random.Int64N(maxBump)
		})
	parameterJump = newParameter("by", "a duration other than zero such as 1h or -30s", func(f *Fault) *time.Duration { return &f.Jump },
		func(text string) (time.Duration, bool) {
			jump, err := time.ParseDuration(text)
			return jump, err == nil && jump != 0
		},
		func(random *rand.Rand) time.Duration {
			jump := drawBetween(random, time.Second, 24*time.Hour)
			if random.IntN(2) == 0 {
				return -jump
			}
			return jump
		})
	parameterTTL = newParameter("ttl", "a duration of whole seconds such as 3s", func(f *Fault) *time.Duration { return &f.TTL },
		func(text string) (time.Duration, bool) {
			ttl, ok := parseDuration(text)
			return ttl, ok && ttl%time.Second == 0
		},
		func(random *rand.Rand) time.Duration {
			return time.Duration(1+random.IntN(int(maxTTL/time.Second))) * time.Second
		})
	parameterRevision = Parameter{
		Name: "revision", Expects: "current, current-N with N above 0, oldest, or deletion",
		print: func(f Fault) string {
			switch f.Back {
			case 0:
				return "current"
			case OldestKept:
				return "oldest"
			case LastDeletion:
				return "deletion"
			}
			return fmt.Sprintf("current-%d", f.Back)
		},
		parse: func(f *Fault, text string) (ok bool) {
			if f.Back, ok = namedRevisions[text]; ok {
				return true
			}
			digits, ok := strings.CutPrefix(text, "current-")
			if ok {
				f.Back, ok = parseCount(digits, 1, 63)
			}
			return ok
		},
		draw: func(f *Fault, random *rand.Rand, _ Topology) {
			switch random.IntN(8) {
			case 0:
				f.Back = OldestKept
			case 1:
				f.Back = LastDeletion
			case 2, 3, 4:
				f.Back = 1 + random.Int64N(maxBack)
			}
		},
	}
)

// The bounds of drawn values that other code depends on or that docs/limits.md names.
const (
	maxLatency = 2 * time.Second
	maxTTL     = 4 * time.Second
	maxBump    = 1000
	// maxBack is how far below the current revision a drawn compaction is at most.
	maxBack = 50
)

var (
	keeps          = []Keep{KeepNothing, KeepSome}
	namedRevisions = map[string]int64{"current": 0, "oldest": OldestKept, "deletion": LastDeletion}
)

// newParameter returns a parameter that is one field of a fault.
func newParameter[T any](name, expects string, field func(*Fault) *T, parse func(string) (T, bool), draw func(*rand.Rand) T) Parameter {
	return Parameter{
		Name: name, Expects: expects,
		print: func(f Fault) string { return fmt.Sprint(*field(&f)) },
		parse: func(f *Fault, text string) (ok bool) {
			*field(f), ok = parse(text)
			return ok
		},
		draw: func(f *Fault, random *rand.Rand, _ Topology) { *field(f) = draw(random) },
	}
}

func processParameter(name, expects string, field func(*Fault) *string, processes func(Topology) []string) Parameter {
	parameter := newParameter(name, expects, field, func(text string) (string, bool) { return text, text != "" }, nil)
	parameter.processes = processes
	parameter.draw = func(f *Fault, random *rand.Rand, t Topology) { *field(f) = pick(random, processes(t)) }
	return parameter
}

// durationParameter returns a parameter that is drawn between two bounds, or not drawn if they are
// 0.
func durationParameter(name string, field func(*Fault) *time.Duration, shortest, longest time.Duration) Parameter {
	parameter := newParameter(name, "a duration above zero such as 1.5s", field, parseDuration,
		func(random *rand.Rand) time.Duration { return drawBetween(random, shortest, longest) })
	if longest == 0 {
		parameter.draw = nil
	}
	return parameter
}

func delay(f *Fault) *time.Duration { return &f.Delay }

func period(f *Fault) *time.Duration { return &f.Period }

func members(t Topology) []string { return t.Members }

// linked returns the processes at the ends of links.
func linked(t Topology) []string {
	if len(t.links()) == 0 {
		return nil
	}
	return slices.Concat(t.Members, t.Servers, t.Clients)
}

func parseDuration(text string) (time.Duration, bool) {
	duration, err := time.ParseDuration(text)
	return duration, err == nil && duration > 0
}

func parseCount(text string, smallest uint64, bits int) (int64, bool) {
	count, err := strconv.ParseUint(text, 10, bits)
	return int64(count), err == nil && count >= smallest
}
