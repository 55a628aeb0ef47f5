// This file is added to package os by watchsim's toolchain overlay.

package os

import (
	"errors"
	"syscall"
	"unsafe" // for go:linkname
)

//go:linkname simActive runtime.simActive
func simActive() bool

//go:linkname simHook runtime.simHook
func simHook(which int) unsafe.Pointer

// simProcesses are told what simulated processes do to themselves. Package kernel declares
// the same struct; keep both alike.
type simProcesses struct {
	exit func(code int)
	host func() string
}

// simExit ends the simulated process that calls it, and returns in any other.
func simExit(code int) {
	if !simActive() {
		return
	}
	if processes := (*simProcesses)(simHook(2)); processes != nil {
		processes.exit(code)
	}
}

// simHostname is the name of the host of the simulated process that calls it.
func simHostname() (name string, ok bool) {
	if !simActive() {
		return "", false
	}
	processes := (*simProcesses)(simHook(2))
	if processes == nil {
		return "", false
	}
	return processes.host(), true
}

// errSimProcess is what a simulated goroutine gets that wants to start a process.
var errSimProcess = errors.New("a simulated program cannot start a process, as what that one does would not follow from the seed")

//go:linkname simRemoveAll syscall.simRemoveAll
func simRemoveAll(path string) (handled bool, err error)

var _ = syscall.ENOSYS // package syscall is what answers
