// This file is added to package internal/sync by watchsim's toolchain overlay.

package sync

import (
	"internal/abi"
	"unsafe"
)

//go:noescape
//go:linkname simLocked runtime.simLocked
func simLocked(lock unsafe.Pointer, shared bool)

//go:noescape
//go:linkname simUnlocked runtime.simUnlocked
func simUnlocked(lock unsafe.Pointer, shared bool)

//go:linkname simTrieSeed runtime.simTrieSeed
func simTrieSeed(key *abi.Type) uintptr
