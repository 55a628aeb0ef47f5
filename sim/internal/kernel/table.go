package kernel

import (
	"unsafe"
)

// functions is the table of the edited runtime, which declares the same struct; keep both alike.
type functions struct {
	version uintptr

	run       func(params *Params, counters *Counters, f func(), onPause func())
	askPause  func()
	resume    func(params *Params, reset bool)
	pauseNext func(at uint64, instant int64)
	follow    func(params *Params)
	counters  func(counters *Counters)
	fork      func() (pid int, errno uintptr)
	setGroup  func(g uint32) uint32
	group     func() uint32
	setWall   func(group uint32, ahead int64)
	setQuiet  func(quiet bool)
	kill      func(group uint32)
	fragile   func(group uint32, all bool) int
	alive     func(group uint32) int
	list      func(list []Goroutine) int
	aside     func()
	back      func()
	setHook   func(which int, table unsafe.Pointer)
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
var found, other = func() (*functions, bool) {
	auxiliary := getAuxv()
	for i := 0; i+1 < len(auxiliary); i += 2 {
		if auxiliary[i] == tableTag {
			// The table is a variable of the runtime, which never moves.
			table := *(**functions)(unsafe.Pointer(&auxiliary[i+1]))
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

func table() *functions {
	if !Available() {
		panic(Missing)
	}
	return found
}

// Run runs f and everything it starts as one simulation. A process can do that once. onPause is
// called where the run pauses, outside of the simulation.
func Run(params *Params, counters *Counters, f func(), onPause func()) {
	table().run(params, counters, f, onPause)
}

// AskPause pauses the run at the calling goroutine.
func AskPause() { table().askPause() }

// Resume takes the decisions after a pause from other parameters. With reset, the counters start
// from zero here.
func Resume(params *Params, reset bool) { table().resume(params, reset) }

// PauseNext sets the next pause; see Params.
func PauseNext(at uint64, instant int64) { table().pauseNext(at, instant) }

// Follow takes the decisions from here on from another seed or tape, and leaves everything else
// unchanged.
func Follow(params *Params) { table().follow(params) }

// Now fills counters with the current values.
func Now(counters *Counters) { table().counters(counters) }

// Fork copies the process. It returns the copy's process ID, 0 in the copy itself, and
// an error number of the operating system.
func Fork() (pid int, errno uintptr) { return table().fork() }

// SetGroup moves the calling goroutine to a process group and returns its old one.
func SetGroup(g uint32) uint32 { return table().setGroup(g) }

// Group returns the calling goroutine's process group.
func Group() uint32 { return table().group() }

// SetWall sets by how many nanoseconds the wall clock of a process group is ahead of
// the simulated clock.
func SetWall(group uint32, ahead int64) { table().setWall(group, ahead) }

// SetQuiet switches yields and stalls off or on.
func SetQuiet(quiet bool) { table().setQuiet(quiet) }

// Kill makes sure that no goroutine or timer of a group ever runs again.
func Kill(group uint32) { table().kill(group) }

// Fragile counts the goroutines of a group that hold or queue for a lock in a way that would leave
// it locked forever if they stopped now.
func Fragile(group uint32, all bool) int { return table().fragile(group, all) }

// Alive counts the remaining goroutines of a group.
func Alive(group uint32) int { return table().alive(group) }

// List fills list with the goroutines of the current run and returns how many
// there are, which may be more than list holds.
func List(list []Goroutine) int { return table().list(list) }

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
