package sim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/watchsim/watchsim/sim/simnet"
)

// Config configures a run. The zero value of every field means the default.
type Config struct {
	// Source makes the scheduling decisions, by default those of seed 0.
	Source Source
	// Limits bound the run.
	Limits Limits
	// Schedule says how often the scheduler yields and stalls.
	Schedule Schedule
	// Record keeps the tape of decisions in Result.Tape.
	Record bool
	// RecordInto is where the tape is written while it is recorded, so that others can read the
	// decisions so far; nil for the run's own memory. It is zero after the last decision, and
	// Limits.TapeBytes does not apply.
	RecordInto []byte
	// BreakAt ends the run at the first scheduling after that decision, counted from 1,
	// with the stacks of all goroutines in the result. 0 means never.
	BreakAt uint64
	// Trace records every scheduling step in Result.Trace, to find the first divergence of
	// two runs and its cause.
	Trace bool
	// TraceRecords bounds the trace; 0 means as many records as fit. Later steps are not
	// recorded.
	TraceRecords int
	// Stop calls Here if the run ends early, with all goroutines still in place.
	Stop bool
	// Explore lets a search steer the run; nil for an ordinary run.
	Explore *Explore
	// Network configures the simulated network; its random streams are those of the world.
	Network simnet.Config
}

// Limits bound a run. Reaching one ends it, and the result says which.
type Limits struct {
	// Decisions is the number of scheduling decisions. A livelock ends here.
	Decisions uint64
	// Simulated is the simulated time.
	Simulated time.Duration
	// TapeBytes is the largest size of a recorded tape.
	TapeBytes int
	// CrashDelay is how long a crash waits for the victim to release locks that belong to
	// the whole operating-system process.
	CrashDelay time.Duration
	// HeapBytes is the size of the heap above which garbage is collected while
	// every goroutine waits.
	HeapBytes uint64
}

// DefaultLimits is generous for a minute of a small cluster.
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
	// StallOneIn makes one yield in this many a stall; 0 for none.
	StallOneIn uint32
	// StallMin and StallMax bound a stall. Its length has a log-uniform distribution between them.
	StallMin, StallMax time.Duration
	// FocusOneIn selects, by the seed, one place in the code in this many where goroutines stall
	// often; 0 for none. This finds bugs that need a goroutine to stall at one place and nowhere
	// else.
	FocusOneIn uint32
}

// DefaultSchedule yields often and stalls rarely.
var DefaultSchedule = Schedule{YieldEvery: 20, StallOneIn: 40, StallMin: 100 * time.Microsecond, StallMax: 3 * time.Second}

// StallLength returns the length of a stall for the kernel's choice among 256 lengths, as
// simStallLength does.
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
	c.Limits.Decisions = cmp.Or(c.Limits.Decisions, DefaultLimits.Decisions)
	c.Limits.Simulated = cmp.Or(c.Limits.Simulated, DefaultLimits.Simulated)
	c.Limits.TapeBytes = cmp.Or(c.Limits.TapeBytes, DefaultLimits.TapeBytes)
	c.Limits.CrashDelay = cmp.Or(c.Limits.CrashDelay, DefaultLimits.CrashDelay)
	c.Limits.HeapBytes = cmp.Or(c.Limits.HeapBytes, DefaultLimits.HeapBytes)
	c.Schedule.StallMin = cmp.Or(c.Schedule.StallMin, DefaultSchedule.StallMin)
	c.Schedule.StallMax = cmp.Or(c.Schedule.StallMax, DefaultSchedule.StallMax)
	return c
}
