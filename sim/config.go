package sim

import (
	"fmt"
	"time"

	"github.com/watchsim/watchsim/sim/simnet"
)

// Config is what a run is given. The zero value of every field but Source
// means the default.
type Config struct {
	// Source makes the scheduling decisions. Required.
	Source Source
	// Limits bound the run.
	Limits Limits
	// Schedule is how hard the scheduler tries to be unkind.
	Schedule Schedule
	// Record keeps the tape of decisions in Result.Tape.
	Record bool
	// RecordInto is where the tape is written while it is recorded, so that others can
	// look at the decisions so far; nil for memory of the run's own. It is zero after
	// the last decision, and Limits.TapeBytes does not count.
	RecordInto []byte
	// BreakAt ends the run when the scheduler is next asked after that decision,
	// counted from 1, with the stacks of all goroutines in the result. 0 means
	// never.
	BreakAt uint64
	// Trace keeps everything that happened in Result.Trace, to find where two
	// runs part, and why.
	Trace bool
	// TraceRecords bounds the trace, 0 for as many as there is room for. What happens
	// after that is not in it.
	TraceRecords int
	// Stop calls Here where the run ends early, while all goroutines are still as
	// they were.
	Stop bool
	// Explore makes the run one that a search can steer; nil for an ordinary one.
	Explore *Explore
	// Network sets up the simulated network; its random streams are the world's.
	Network simnet.Config
}

// Limits bound a run. Hitting one ends it, and the result says which it was.
type Limits struct {
	// Decisions is the number of scheduling decisions. A livelock ends here.
	Decisions uint64
	// Simulated is the simulated time.
	Simulated time.Duration
	// TapeBytes is how much tape a run may record.
	TapeBytes int
	// CrashDelay is how long a crash waits for the victim to let go of locks
	// that belong to the whole operating-system process.
	CrashDelay time.Duration
	// HeapBytes is the size of the heap above which garbage is collected while
	// every goroutine waits.
	HeapBytes uint64
}

// DefaultLimits are generous for a minute of a small cluster.
var DefaultLimits = Limits{
	Decisions:  20_000_000,
	Simulated:  10 * time.Minute,
	TapeBytes:  64 << 20,
	CrashDelay: 10 * time.Second,
	HeapBytes:  1 << 30,
}

// String lists the limits for a banner.
func (l Limits) String() string {
	return fmt.Sprintf("decisions %d, simulated time %v, tape %d MiB, crash delay %v, heap %d MiB",
		l.Decisions, l.Simulated, l.TapeBytes>>20, l.CrashDelay, l.HeapBytes>>20)
}

// Schedule says how often a goroutine yields at a synchronisation point (a
// channel operation, a select, a mutex), and how often that yield is a stall: a
// sleep of simulated time right there. Without stalls no goroutine is ever
// overtaken by a timer, and whole classes of bugs cannot happen.
type Schedule struct {
	// YieldEvery is the number of synchronisation points between two yields, on
	// average; 0 switches yields and stalls off.
	YieldEvery uint32
	// StallOneIn makes one yield in so many a stall; 0 for none.
	StallOneIn uint32
	// StallMin and StallMax bound a stall. Every order of magnitude between
	// them is as likely as every other.
	StallMin, StallMax time.Duration
	// FocusOneIn picks one place of the code in so many, by the seed, at which
	// goroutines stall often; 0 for none. A bug that needs someone to be held up
	// at one place and nobody elsewhere is found this way.
	FocusOneIn uint32
}

// DefaultSchedule yields often and stalls rarely.
var DefaultSchedule = Schedule{YieldEvery: 20, StallOneIn: 40, StallMin: 100 * time.Microsecond, StallMax: 3 * time.Second}

// StallLength is how long a stall is for which the kernel has chosen this of
// 256 lengths; it counts as simStallLength does.
func (s Schedule) StallLength(chosen uint32) time.Duration {
	length := s.StallMin
	for i := uint32(0); i < chosen && length < s.StallMax; i++ {
		length += length/24 + 1
	}
	return min(length, s.StallMax)
}

// String describes the schedule for a banner.
func (s Schedule) String() string {
	if s.FocusOneIn > 0 {
		plain := s
		plain.FocusOneIn = 0
		return fmt.Sprintf("%s; one place in %d in focus", plain, s.FocusOneIn)
	}
	if s.YieldEvery == 0 {
		return "no yields"
	}
	if s.StallOneIn == 0 {
		return fmt.Sprintf("a yield every %d synchronisation points, no stalls", s.YieldEvery)
	}
	return fmt.Sprintf("a yield every %d synchronisation points, one in %d a stall of %v to %v",
		s.YieldEvery, s.StallOneIn, s.StallMin, s.StallMax)
}

func (c Config) withDefaults() Config {
	defaultTo(&c.Limits.Decisions, DefaultLimits.Decisions)
	defaultTo(&c.Limits.Simulated, DefaultLimits.Simulated)
	defaultTo(&c.Limits.TapeBytes, DefaultLimits.TapeBytes)
	defaultTo(&c.Limits.CrashDelay, DefaultLimits.CrashDelay)
	defaultTo(&c.Limits.HeapBytes, DefaultLimits.HeapBytes)
	defaultTo(&c.Schedule.StallMin, DefaultSchedule.StallMin)
	defaultTo(&c.Schedule.StallMax, DefaultSchedule.StallMax)
	return c
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
