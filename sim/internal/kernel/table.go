package kernel

import "unsafe"

// Functions is the table of the edited runtime, which declares the same struct; keep both alike.
type Functions struct {
	version uintptr

	// Run runs f and everything it starts as one simulation. A process can do that once. onPause is
	// called where the run pauses, outside of the simulation.
	Run func(params *Params, counters *Counters, f func(), onPause func())
	// AskPause pauses the run at the calling goroutine.
	AskPause func()
	// Resume takes the decisions after a pause from other parameters. With reset, the counters start
	// from zero here.
	Resume func(params *Params, reset bool)
	// PauseNext sets the next pause; see Params.
	PauseNext func(at uint64, instant int64)
	// Follow takes the decisions from here on from another seed or tape, and leaves everything else
	// unchanged.
	Follow func(params *Params)
	// Counters fills counters with the current values.
	Counters func(counters *Counters)
	// Fork copies the process. It returns the copy's process ID, 0 in the copy itself, and
	// an error number of the operating system.
	Fork func() (pid int, errno uintptr)
	// SetGroup moves the calling goroutine to a process group and returns its old one, and Group
	// returns its group.
	SetGroup func(g uint32) uint32
	Group    func() uint32
	// SetWall sets by how many nanoseconds the wall clock of a process group is ahead of
	// the simulated clock.
	SetWall func(group uint32, ahead int64)
	// SetQuiet switches yields and stalls off or on.
	SetQuiet func(quiet bool)
	// Kill makes sure that no goroutine or timer of a group ever runs again.
	Kill func(group uint32)
	// Fragile counts the goroutines of a group that hold or queue for a lock in a way that would leave
	// it locked forever if they stopped now.
	Fragile func(group uint32, all bool) int
	// Alive counts the remaining goroutines of a group.
	Alive func(group uint32) int
	// List fills list with the goroutines of the current run and returns how many
	// there are, which may be more than list holds.
	List func(list []Goroutine) int

	aside, back func()
	setHook     func(which int, table unsafe.Pointer)
}

const (
	tableTag     = 0x77617463_6873696d // "watchsim"
	tableVersion = 2
)

// getAuxv is Go's own. The overlay adds a pair to what it returns: the tag, and the
// address of the table.
//
//go:linkname getAuxv runtime.getAuxv
func getAuxv() []uintptr

// found is the table, nil without the overlay, and other reports whether there was a table of
// another version.
var found, other = func() (*Functions, bool) {
	auxiliary := getAuxv()
	for i := 0; i+1 < len(auxiliary); i += 2 {
		if auxiliary[i] == tableTag {
			// The table is a variable of the runtime, which never moves.
			table := *(**Functions)(unsafe.Pointer(&auxiliary[i+1]))
			return table, table.version != tableVersion
		}
	}
	return nil, false
}()

// Missing is the message for users if the overlay is missing.
const Missing = "this binary was built without watchsim's toolchain overlay, so it cannot simulate"

// Available reports whether this binary was built with the toolchain overlay that
// belongs to this source.
func Available() bool { return found != nil && !other }

// Old reports whether this binary was built with a toolchain overlay of other source.
func Old() bool { return other }

// Runtime returns the functions of the edited runtime.
func Runtime() *Functions {
	if !Available() {
		panic(Missing)
	}
	return found
}

// Now returns the current counters.
func Now() (counters Counters) {
	Runtime().Counters(&counters)
	return counters
}

// Aside and Back enclose code that inspects a run without being part of it: between them nothing is
// a synchronisation point, a decision, or a draw from the run's random numbers. Without a
// simulation they do nothing.
func Aside() {
	if found != nil {
		found.aside()
	}
}

// Back ends the section that Aside began.
func Back() {
	if found != nil {
		found.back()
	}
}
