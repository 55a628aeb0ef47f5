// This file is added to package syscall by watchsim's toolchain overlay.
//
// Files below the root /simulated are in memory: whoever opens one gets a descriptor
// that the operating system does not know, and each system call on such a path or
// descriptor goes to a table of functions. A memory map of such a file is the memory
// that holds it. A file reaches its disk when the simulated disk says so.

package syscall

import (
	"internal/goarch"
	"unsafe"
)

//go:linkname simActive runtime.simActive
func simActive() bool

//go:linkname simHook runtime.simHook
func simHook(which int) unsafe.Pointer

// simFiles answers for files in memory. Package kernel declares the same struct; keep
// both alike.
type simFiles struct {
	open      func(path string, flags int, mode uint32) (fd int, errno Errno)
	close     func(fd int) Errno
	read      func(fd int, p []byte, offset int64) (n int, errno Errno) // offset -1 for where the descriptor is
	write     func(fd int, p []byte, offset int64) (n int, errno Errno)
	seek      func(fd int, offset int64, whence int) (int64, Errno)
	stat      func(path string, fd int, stat *Stat_t) Errno // fd if path is empty
	truncate  func(path string, fd int, length int64) Errno
	grow      func(fd int, length int64) Errno
	list      func(fd int, p []byte) (n int, errno Errno)
	mkdir     func(path string, mode uint32) Errno
	remove    func(path string, dir bool) Errno
	removeAll func(path string) Errno
	rename    func(from, to string) Errno
	sync      func(fd int) // of any file, of simulated goroutines alone

	// region is where the memory of an open file begins, by its descriptor from
	// simDescriptorMin on.
	region *[simDescriptors]uintptr
	// from and to bound the memory of all files.
	from, to uintptr
}

const (
	simRoot          = "/simulated"
	simDescriptorMin = 1 << 20
	simDescriptors   = 1 << 14
)

func simFileSystem() *simFiles { return (*simFiles)(simHook(1)) }

// simIn reports whether a path is that of a file in memory.
func simIn(path string) bool {
	return len(path) >= len(simRoot) && path[:len(simRoot)] == simRoot && (len(path) == len(simRoot) || path[len(simRoot)] == '/') && simFileSystem() != nil
}

// simOf reports whether a descriptor is that of a file in memory.
func simOf(fd int) bool { return fd >= simDescriptorMin && fd < simDescriptorMin+simDescriptors }

// simErr is an error number as an error.
func simErr(errno Errno) error {
	if errno == 0 {
		return nil
	}
	return errnoErr(errno)
}

// simSync has the simulated disk sync a file, and reports whether it has.
func simSync(fd int) bool {
	files := simFileSystem()
	if files == nil || !simActive() {
		return simOf(fd)
	}
	files.sync(fd)
	return true
}

// simGrow has room made in a file. Modes that leave its size as it is have nothing to do.
func simGrow(fd int, mode uint32, from, length int64) Errno {
	if from < 0 || length <= 0 {
		return EINVAL
	}
	if mode != 0 {
		return 0
	}
	return simFileSystem().grow(fd, from+length)
}

// simCopyFileRange is the number of a system call that the package has no name for.
const simCopyFileRange = 326*goarch.IsAmd64 + 285*goarch.IsArm64

// simRaw answers the system calls on files in memory that come from elsewhere than
// this package: locks, of which there are none, and memory maps that are only read, as
// nobody learns what is written into the memory of a file. It may not split the stack, as
// whoever calls holds addresses as numbers.
//
//go:nosplit
func simRaw(trap, a1, a2, a3, a5, a6 uintptr) (r1 uintptr, errno Errno, ok bool) {
	switch {
	case trap == SYS_MMAP && a5 >= simDescriptorMin && a5 < simDescriptorMin+simDescriptors:
		region := simFileSystem().region[a5-simDescriptorMin]
		if region == 0 || a3&PROT_WRITE != 0 {
			return 0, ENODEV, true
		}
		return region + a6, 0, true
	case trap == SYS_MUNMAP || trap == SYS_MADVISE || trap == SYS_MLOCK || trap == SYS_MUNLOCK:
		if files := simFileSystem(); files != nil && a1 >= files.from && a1 < files.to {
			return 0, 0, true
		}
	case a1 < simDescriptorMin || a1 >= simDescriptorMin+simDescriptors:
	case trap == SYS_FCNTL && (a2 == F_DUPFD || a2 == F_DUPFD_CLOEXEC):
		return 0, EINVAL, true
	case trap == SYS_FCNTL || trap == SYS_FLOCK:
		return 0, 0, true
	case trap == simCopyFileRange:
		return 0, ENOSYS, true
	}
	return 0, 0, false
}

// simRemoveAll removes a file in memory or a folder with all that it holds, for
// package os.
//
//go:linkname simRemoveAll
func simRemoveAll(path string) (handled bool, err error) {
	if !simIn(path) {
		return false, nil
	}
	return true, simErr(simFileSystem().removeAll(path))
}
