// This file is added to package syscall by watchsim's toolchain overlay.

package syscall

import (
	"internal/goarch"
	"unsafe"
)

// simNone is added to numbers of system calls that only amd64 has: elsewhere nobody makes them.
const simNone = 1 << 20 * goarch.IsArm64

// The numbers of system calls that the package has no name for on every architecture.
const (
	simOpen          = 2 + simNone
	simStat          = 4 + simNone
	simLstat         = 6 + simNone
	simAccess        = 21 + simNone
	simRename        = 82 + simNone
	simMkdir         = 83 + simNone
	simRmdir         = 84 + simNone
	simUnlink        = 87 + simNone
	simReadlink      = 89 + simNone
	simChmod         = 90 + simNone
	simStatAt        = 262*goarch.IsAmd64 + 79*goarch.IsArm64
	simGetRandom     = 318*goarch.IsAmd64 + 278*goarch.IsArm64
	simCopyFileRange = 326*goarch.IsAmd64 + 285*goarch.IsArm64
)

// simRandomness is the descriptor of /dev/urandom, for simulated goroutines.
const simRandomness = simDescriptorMin + simDescriptors

// simPid is the number of every simulated process. It is Linux's pid_max on 64 bits (PID_MAX_LIMIT), so no process has it,
// and a signal that is sent to it reaches nobody.
const simPid = 1 << 22

// simRaw answers system calls that come from elsewhere than this package: those on files in
// memory, and those that wait, ask for the time, for random numbers or for who they are.
//
// It may not split the stack before it knows that it answers: callers hold addresses as numbers,
// which do not move with the stack. What it does answer comes from memory that does not move: of
// the heap, or of translated C.
//
//go:nosplit
func simRaw(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1 uintptr, errno Errno, ok bool) {
	switch {
	case trap == SYS_MUNMAP || trap == SYS_MADVISE || trap == SYS_MLOCK || trap == SYS_MUNLOCK || trap == SYS_MSYNC:
		files := simFileSystem()
		return 0, 0, files != nil && a1 >= files.from && a1 < files.to
	case trap == SYS_MMAP:
		if !simOf(int(a5)) {
			return 0, 0, false
		}
		r1, errno = simShare(a2, a3, a4, a5, a6)
	case trap == SYS_NANOSLEEP || trap == SYS_CLOCK_NANOSLEEP || trap == SYS_CLOCK_GETTIME || trap == SYS_GETTIMEOFDAY || trap == simGetRandom ||
		trap == SYS_GETPID:
		if !simActive() || trap == SYS_CLOCK_NANOSLEEP && a2 != 0 {
			return 0, 0, false
		}
		r1 = simOfWorld(trap, a1, a2, a3)
	case a1 >= simDescriptorMin && a1 <= simRandomness:
		switch trap {
		case SYS_CLOSE, SYS_READ, SYS_WRITE, SYS_PREAD64, SYS_PWRITE64, SYS_LSEEK, SYS_FSTAT, SYS_FTRUNCATE, SYS_FALLOCATE, SYS_GETDENTS64,
			SYS_FSYNC, SYS_FDATASYNC, SYS_FCNTL, SYS_FLOCK, SYS_FCHMOD, SYS_FCHOWN, simCopyFileRange:
			r1, errno = simOnDescriptor(trap, int(a1), a2, a3, a4)
		default:
			return 0, 0, false
		}
	case trap == SYS_OPENAT || trap == simStatAt || trap == SYS_FACCESSAT || trap == SYS_UNLINKAT || trap == SYS_MKDIRAT ||
		trap == SYS_RENAMEAT || trap == SYS_READLINKAT || trap == SYS_FCHMODAT:
		if !simNamed(a2) {
			return 0, 0, false
		}
		r1, errno = simOnPath(trap, a2, a3, a4)
	case trap == simOpen || trap == simStat || trap == simLstat || trap == simAccess || trap == simRename || trap == simMkdir ||
		trap == simRmdir || trap == simUnlink || trap == simReadlink || trap == simChmod || trap == SYS_TRUNCATE:
		if !simNamed(a1) {
			return 0, 0, false
		}
		r1, errno = simOnPath(trap, a1, a2, a3)
	default:
		return 0, 0, false
	}
	return r1, errno, true
}

// simPointer is an address that was passed on as a number.
//
//go:nosplit
func simPointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// simBytes is memory that was passed on as numbers.
func simBytes(address, length uintptr) []byte {
	if length == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(simPointer(address)), length)
}

// simPath is the text at an address, up to its zero.
//
//go:nosplit
func simPath(address uintptr) string {
	first := (*byte)(simPointer(address))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(first), n)) != 0 {
		n++
	}
	return unsafe.String(first, n)
}

// simNamed reports whether the path at an address is one that simOnPath answers for.
//
//go:nosplit
func simNamed(address uintptr) bool {
	if address == 0 {
		return false
	}
	path := simPath(address)
	return simIn(path) || simActive() && path == "/dev/urandom"
}

//go:linkname simSleep time.Sleep
func simSleep(nanoseconds int64)

//go:linkname simNow runtime.simNow
func simNow() (sec int64, nsec int32, mono int64)

//go:linkname simFill runtime.simFill
func simFill(b []byte) bool

// simOfWorld answers what the world has of its own: a clock, random numbers, processes.
func simOfWorld(trap, a1, a2, a3 uintptr) uintptr {
	switch trap {
	case SYS_NANOSLEEP:
		simSleep((*Timespec)(simPointer(a1)).Nano())
	case SYS_CLOCK_NANOSLEEP:
		simSleep((*Timespec)(simPointer(a3)).Nano())
	case SYS_CLOCK_GETTIME:
		const realTime, coarseRealTime = 0, 5
		seconds, nanoseconds, monotonic := simNow()
		if a1 != realTime && a1 != coarseRealTime {
			seconds, nanoseconds = monotonic/1e9, int32(monotonic%1e9)
		}
		*(*Timespec)(simPointer(a2)) = Timespec{Sec: seconds, Nsec: int64(nanoseconds)}
	case SYS_GETTIMEOFDAY:
		seconds, nanoseconds, _ := simNow()
		*(*Timeval)(simPointer(a1)) = Timeval{Sec: seconds, Usec: int64(nanoseconds / 1000)}
	case simGetRandom:
		simFill(simBytes(a1, a2))
		return a2
	case SYS_GETPID:
		return simPid
	}
	return 0
}

// simShare maps a file into memory, where it is: one that others do not see cannot be had.
func simShare(length, protection, flags, fd, offset uintptr) (uintptr, Errno) {
	write := protection&PROT_WRITE != 0
	if write && flags&MAP_PRIVATE != 0 {
		return 0, ENODEV
	}
	return simFileSystem().share(int(fd), int64(offset), int64(length), write)
}

// simOnDescriptor answers a system call on an open file in memory. Nobody else has a lock on one.
func simOnDescriptor(trap uintptr, fd int, a2, a3, a4 uintptr) (uintptr, Errno) {
	files := simFileSystem()
	if fd == simRandomness {
		if trap == SYS_READ {
			simFill(simBytes(a2, a3))
			return a3, 0
		}
		return 0, 0
	}
	count, errno := 0, Errno(0)
	switch trap {
	case SYS_CLOSE:
		errno = files.close(fd)
	case SYS_READ:
		count, errno = files.read(fd, simBytes(a2, a3), -1)
	case SYS_WRITE:
		count, errno = files.write(fd, simBytes(a2, a3), -1)
	case SYS_PREAD64:
		count, errno = files.read(fd, simBytes(a2, a3), int64(a4))
	case SYS_PWRITE64:
		count, errno = files.write(fd, simBytes(a2, a3), int64(a4))
	case SYS_LSEEK:
		var offset int64
		offset, errno = files.seek(fd, int64(a2), int(a3))
		count = int(offset)
	case SYS_FSTAT:
		errno = files.stat("", fd, (*Stat_t)(simPointer(a2)))
	case SYS_FTRUNCATE:
		errno = files.truncate("", fd, int64(a2))
	case SYS_FALLOCATE:
		errno = simGrow(fd, uint32(a2), int64(a3), int64(a4))
	case SYS_GETDENTS64:
		count, errno = files.list(fd, simBytes(a2, a3))
	case SYS_FSYNC, SYS_FDATASYNC:
		simSync(fd)
	case SYS_FCNTL:
		switch a2 {
		case F_GETLK:
			(*Flock_t)(simPointer(a3)).Type = F_UNLCK
		case F_DUPFD, F_DUPFD_CLOEXEC:
			errno = EINVAL
		}
	case simCopyFileRange:
		errno = ENOSYS
	}
	return uintptr(count), errno
}

// simOnPath answers a system call on a path of a file in memory.
func simOnPath(trap, path, a, b uintptr) (uintptr, Errno) {
	name := string([]byte(simPath(path)))
	if !simIn(name) {
		if trap == simOpen || trap == SYS_OPENAT {
			return simRandomness, 0
		}
		return 0, EACCES // of /dev/urandom
	}
	files := simFileSystem()
	switch trap {
	case simOpen, SYS_OPENAT:
		fd, errno := files.open(name, int(a), uint32(b))
		return uintptr(fd), errno
	case simStat, simLstat, simStatAt:
		return 0, files.stat(name, 0, (*Stat_t)(simPointer(a)))
	case simUnlink:
		return 0, files.remove(name, false)
	case simRmdir:
		return 0, files.remove(name, true)
	case SYS_UNLINKAT:
		return 0, files.remove(name, a&_AT_REMOVEDIR != 0)
	case simMkdir, SYS_MKDIRAT:
		return 0, files.mkdir(name, uint32(a))
	case simRename:
		return 0, files.rename(name, string([]byte(simPath(a))))
	case SYS_RENAMEAT:
		return 0, files.rename(name, string([]byte(simPath(b))))
	case SYS_TRUNCATE:
		return 0, files.truncate(name, 0, int64(a))
	}
	var stat Stat_t
	errno := files.stat(name, 0, &stat)
	if errno == 0 && (trap == simReadlink || trap == SYS_READLINKAT) {
		errno = EINVAL // nothing is a link
	}
	return 0, errno // nobody looks at modes
}
