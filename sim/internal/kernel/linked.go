//go:build watchsim

package kernel

import (
	"context"
	"net"
	_ "unsafe" // for go:linkname
)

// Available reports whether this binary was built with the toolchain overlay.
const Available = true

// Run runs f and everything it starts as one simulation.
func Run(params *Params, counters *Counters, f func()) { run(params, counters, f) }

// Forget ends the access to the last run's goroutines.
func Forget() { forget() }

// SetGroup moves the calling goroutine to a process group and returns its old one.
func SetGroup(g uint32) uint32 { return setGroup(g) }

// Group returns the calling goroutine's process group.
func Group() uint32 { return group() }

// SetWall sets by how many nanoseconds the wall clock of a process group is ahead of
// the simulated clock.
func SetWall(group uint32, ahead int64) { setWall(group, ahead) }

// SetQuiet switches yields and stalls off or on.
func SetQuiet(quiet bool) { setQuiet(quiet) }

// Kill makes sure that no goroutine or timer of a group ever runs again.
func Kill(group uint32) { kill(group) }

// Fragile counts the goroutines of a group that hold or queue for a lock in a
// way that would leave it locked for ever if they stopped now.
func Fragile(group uint32, all bool) int { return fragile(group, all) }

// Alive counts the goroutines of a group that are left.
func Alive(group uint32) int { return alive(group) }

// List fills list with the goroutines of the current run and returns how many
// there are, which may be more than list holds.
func List(list []Goroutine) int { return listAll(list) }

// Aside and Back frame what is no part of the run: between them nothing is a
// synchronisation point, a decision, or a draw from the run's random numbers.
func Aside() { aside() }

// Back ends what Aside began.
func Back() { back() }

// SetNetwork says who answers the dials and listens of simulated goroutines.
func SetNetwork(
	dial func(ctx context.Context, network, address string) (net.Conn, error),
	listen func(ctx context.Context, network, address string) (net.Listener, error),
) {
	setNetwork(dial, listen)
}

// SetSync says who answers when simulated goroutines sync a file; nil is for what the
// operating system does.
func SetSync(sync func(fd int)) { setSync(sync) }

// The edited runtime and packages net and syscall push these by go:linkname.

//go:linkname run
func run(params *Params, counters *Counters, f func())

//go:linkname forget
func forget()

//go:linkname setGroup
func setGroup(g uint32) uint32

//go:linkname group
func group() uint32

//go:linkname setWall
func setWall(group uint32, ahead int64)

//go:linkname setQuiet
func setQuiet(quiet bool)

//go:linkname kill
func kill(group uint32)

//go:linkname fragile
func fragile(group uint32, all bool) int

//go:linkname alive
func alive(group uint32) int

//go:linkname aside runtime.simAside
func aside()

//go:linkname back runtime.simBack
func back()

//go:linkname listAll
func listAll(list []Goroutine) int

//go:linkname setNetwork
func setNetwork(
	dial func(ctx context.Context, network, address string) (net.Conn, error),
	listen func(ctx context.Context, network, address string) (net.Listener, error),
)

//go:linkname setSync
func setSync(sync func(fd int))
