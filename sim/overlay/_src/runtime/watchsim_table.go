// This file is added to package runtime by watchsim's toolchain overlay.
//
// Whoever wants to simulate finds the kernel in the auxiliary vector, which Go hands out
// in every build: the overlay adds a pair to it, a tag and a table of functions. So
// the same source builds with and without the overlay, with no tag, and knows at run
// time which it was.

package runtime

import "unsafe"

const (
	simTableTag     = 0x77617463_6873696d // "watchsim"
	simTableVersion = 2                   // changes with what follows, and with simParams and simCounters
)

// simFunctions is the table. Package kernel declares the same struct; keep both alike.
type simFunctions struct {
	version uintptr

	run       func(params *simParams, counters *simCounters, f func(), onPause func())
	askPause  func()
	resume    func(params *simParams, reset bool)
	pauseNext func(at uint64, instant int64)
	follow    func(params *simParams)
	counters  func(counters *simCounters)
	fork      func() (pid int, errno uintptr)
	setGroup  func(g uint32) uint32
	group     func() uint32
	setWall   func(group uint32, ahead int64)
	setQuiet  func(quiet bool)
	kill      func(group uint32)
	fragile   func(group uint32, all bool) int
	alive     func(group uint32) int
	list      func(list []simGoroutine) int
	aside     func()
	back      func()
	setHook   func(which int, table unsafe.Pointer)
}

var simTable = simFunctions{
	simTableVersion,
	simRun, simAskPause, simResume, simPauseNext, simFollow, simCountersNow, simFork, simSetGroup, simGroup, simSetWall, simSetQuiet,
	simKill, simFragile, simAlive, simList, simAside, simBack, simSetHook,
}

// simAuxiliary is the auxiliary vector with the table in it.
func simAuxiliary() []uintptr {
	return append(auxv[:len(auxv):len(auxv)], simTableTag, uintptr(unsafe.Pointer(&simTable)))
}

// simHooks are tables of functions that packages net, os and syscall call instead of the
// operating system: see package kernel.
var simHooks [3]unsafe.Pointer

func simSetHook(which int, table unsafe.Pointer) { simHooks[which] = table }

//go:linkname simHook
func simHook(which int) unsafe.Pointer { return simHooks[which] }
