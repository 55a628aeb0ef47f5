// This file is added to package net by watchsim's toolchain overlay.
//
// Inside a simulation there is no network but the simulated one.

package net

import (
	"context"
	"unsafe" // for go:linkname
)

//go:linkname simActive runtime.simActive
func simActive() bool

//go:linkname simHook runtime.simHook
func simHook(which int) unsafe.Pointer

// simNetwork answers the dials and listens of simulated goroutines. Package kernel
// declares the same struct; keep both alike.
type simNetwork struct {
	dial   func(ctx context.Context, network, address string) (Conn, error)
	listen func(ctx context.Context, network, address string) (Listener, error)
}

// simNet is the simulated network for a simulated goroutine, and nil for any other.
func simNet() *simNetwork {
	if !simActive() {
		return nil
	}
	return (*simNetwork)(simHook(0))
}
