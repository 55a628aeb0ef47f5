// Package kernel is the interface between package sim and the edited runtime: the same types and
// functions in every build, so that everything compiles with the stock toolchain, too. Without the
// overlay Available reports false, and the functions panic.
//
//   - kernel.go: the types of the interface.
//   - table.go: how the edited runtime is found, and its functions.
//   - hooks.go: what the edited packages net, os and syscall call.
package kernel

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// Params are the parameters of a run. The edited runtime declares the same struct; keep both alike.
type Params struct {
	SchedSeed    uint64
	CodeSeed     uint64
	MaxDecisions uint64
	MaxTime      int64 // nanoseconds of simulated time
	YieldMean    uint32
	StallOneIn   uint32
	StallMin     int64 // nanoseconds
	StallMax     int64
	BreakAt      uint64

	Replay    unsafe.Pointer
	ReplayLen int
	Record    unsafe.Pointer
	RecordCap int
	CollectAt uint64

	Trace    unsafe.Pointer
	TraceCap int

	FocusSeed  uint64
	FocusOneIn uint64

	Explore    uint64
	Scope      string
	Holds      unsafe.Pointer
	HoldsLen   int
	Changes    unsafe.Pointer
	ChangesLen int
	Choices    unsafe.Pointer
	ChoicesCap int

	// SetWindow opens or closes the window of an exploring run. The kernel sets it when the run
	// begins; a kernel that cannot explore leaves it unchanged.
	SetWindow func(open bool)

	PauseAt      uint64 // pause when the scheduler is next asked after that many decisions; 0 for never
	PauseInstant int64  // pause before the clock goes beyond it, nanoseconds since the run began; 0 for never
}

// Change is a change of a priority in a plan.
type Change struct {
	Step     uint64 // which synchronisation point in scope, from 1
	Priority uint64 // what the goroutine has from then on
	Hold     uint64 // which of the lengths it is held up for, from 1; 0 for none
}

// Chosen is a decision of an exploring run.
type Chosen struct {
	Kind                 Kind
	Alternatives, Chosen uint32
	Alone                uint32 // at a point: nobody else was runnable
	State                uint64 // where the run was: equal numbers mean the same future
}

// The values of Params.Explore.
const (
	Steered  = 1 // a search takes the decisions
	Observed = 2 // the decisions are those of any run; only the shape is wanted
)

// Kind is what a decision decides.
type Kind uint32

// The kinds of decision.
const (
	KindPick   Kind = 1 // which goroutine runs; 0 is the one that has waited longest
	KindYield  Kind = 2 // a goroutine is interrupted: how many synchronisation points to the next time
	KindStall  Kind = 3 // whether that interruption is a stall
	KindFocus  Kind = 4 // whether a visit of a place in focus is a stall
	KindLength Kind = 5 // how long a stall is
	KindSelect Kind = 6 // which case a select looks at first; if steered, which ready case it takes
	KindPoint  Kind = 7 // if steered: go on, let others go first unless Alone, or stall for each of the lengths
)

// kinds are their names in files and reports.
var kinds = [...]string{KindPick: "pick", KindYield: "yield", KindStall: "stall", KindFocus: "focus",
	KindLength: "length", KindSelect: "select", KindPoint: "point"}

// String returns the kind's name.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kinds) {
		return fmt.Sprintf("kind %d", uint32(k))
	}
	return kinds[k]
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a name.
func (k *Kind) UnmarshalText(name []byte) error {
	found := slices.Index(kinds[:], string(name))
	if found <= 0 {
		return fmt.Errorf("expected a kind of decision, one of%s; found %q", strings.Join(kinds[:], " "), name)
	}
	*k = Kind(found)
	return nil
}

// Counters are the statistics of a run. The edited runtime declares the same struct.
type Counters struct {
	Hash       uint64
	Decisions  uint64
	Points     uint64
	Yields     uint64
	Stalls     uint64
	Switches   uint64
	Randoms    uint64
	Now        int64 // nanoseconds since the run began
	Stop       uint32
	Diverged   uint32
	TapeFull   uint32
	Foreign    uint32
	Replayed   int
	Recorded   int
	Goroutines uint64
	Identities uint64
	Running    uint64 // ID of the goroutine that ran last
	Traced     int
	Spins      uint64

	Shape       uint64 // of a run that explores, up to the end of its window
	State       uint64 // where it was at the end of its window
	Steps       uint64 // synchronisation points in scope within the window
	Choices     int    // decisions written
	ChoicesFull uint64
}

// Why a run stopped, the values of Counters.Stop.
const (
	StopNone      = 0
	StopDecisions = 1
	StopTime      = 2
	StopDeadlock  = 3
	StopAsked     = 4
)

// TraceRecord is one record of Params.Trace: the number of decisions so far, a kind, its subject,
// the nanoseconds since the run began, and callers if the kind has them.
type TraceRecord struct {
	Decision, Kind, What, Now uintptr
	Callers                   [12]uintptr
}

// The kinds of trace record, and their subjects.
const (
	TracePick     = 1  // a goroutine was picked: its ID
	TracePoint    = 2  // a synchronisation point was passed: the goroutine's ID
	TraceDraw     = 3  // a random number was drawn: how many there were so far
	TraceDecision = 16 // plus its kind, a decision: the number of alternatives in the upper half, and which
)

// GroupMax is how many process groups one run can have.
const GroupMax = 1 << 12

// Goroutine is one goroutine of the current run.
type Goroutine struct {
	ID      uint64 // order of creation within the run, from 1
	GoID    uint64 // as a stack trace shows it
	Group   uint32
	Stalled bool
	Locks   int32
	Reason  string // why it waits
}
