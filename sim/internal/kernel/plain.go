//go:build !watchsim

package kernel

import (
	"context"
	"net"
)

// Available reports whether this binary was built with the toolchain overlay.
const Available = false

// Missing is the sentence a user reads when the overlay is missing.
const Missing = "this binary was built without watchsim's toolchain overlay, so it cannot simulate"

// Run panics: this build cannot simulate.
func Run(*Params, *Counters, func()) { panic(Missing) }

// Forget panics: this build cannot simulate.
func Forget() { panic(Missing) }

// SetGroup panics: this build cannot simulate.
func SetGroup(uint32) uint32 { panic(Missing) }

// Group panics: this build cannot simulate.
func Group() uint32 { panic(Missing) }

// SetWall panics: this build cannot simulate.
func SetWall(uint32, int64) { panic(Missing) }

// SetQuiet panics: this build cannot simulate.
func SetQuiet(bool) { panic(Missing) }

// Kill panics: this build cannot simulate.
func Kill(uint32) { panic(Missing) }

// Fragile panics: this build cannot simulate.
func Fragile(uint32, bool) int { panic(Missing) }

// Alive panics: this build cannot simulate.
func Alive(uint32) int { panic(Missing) }

// List panics: this build cannot simulate.
func List([]Goroutine) int { panic(Missing) }

// Aside does nothing: without a simulation there is nothing to stand aside from.
func Aside() {}

// Back does nothing.
func Back() {}

// SetNetwork panics: this build cannot simulate.
func SetNetwork(
	func(ctx context.Context, network, address string) (net.Conn, error),
	func(ctx context.Context, network, address string) (net.Listener, error),
) {
	panic(Missing)
}

// SetSync panics: this build cannot simulate.
func SetSync(func(fd int)) { panic(Missing) }
