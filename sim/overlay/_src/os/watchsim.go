// This file is added to package os by watchsim's toolchain overlay.

package os

import (
	"syscall"
	_ "unsafe" // for go:linkname
)

//go:linkname simRemoveAll syscall.simRemoveAll
func simRemoveAll(path string) (handled bool, err error)

var _ = syscall.ENOSYS // package syscall is what answers
