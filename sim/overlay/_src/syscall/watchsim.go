// This file is added to package syscall by watchsim's toolchain overlay.
//
// Files below the root /simulated are in memory: whoever opens one gets a descriptor
// that the operating system does not know, and each system call on such a path or
// descriptor goes to a table of functions. A memory map of such a file is the memory
// that holds it. A file reaches its disk when the simulated disk says so.

package syscall

import "unsafe"

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

	// share returns where a piece of an open file is in memory, to read and perhaps to write there.
	share func(fd int, offset, length int64, write bool) (address uintptr, errno Errno)
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
