package simdisk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// raw makes a system call by its number, as translated C does, and says what it returned.
func raw(trap uintptr, arguments ...uintptr) (int, string) {
	for len(arguments) < 6 {
		arguments = append(arguments, 0)
	}
	n, _, errno := unix.Syscall6(trap, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5])
	return int(n), fmt.Sprint(errno)
}

// text is the address of a path that ends with a zero.
func text(path string) (uintptr, []byte) {
	bytes := append([]byte(path), 0)
	return uintptr(unsafe.Pointer(&bytes[0])), bytes
}

// rawPath makes system calls on paths by their numbers.
func (p *pair) rawPath(r *rapid.T) {
	path, other := name(r, "path"), name(r, "other")
	call := rapid.SampledFrom([]string{"stat", "lstat", "statat", "access", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "rename", "renameat", "truncate", "readlink"}).Draw(r, "call")
	p.both(r, "raw "+call+" "+path, func(root string, _ int) string {
		at, keptAt := text(filepath.Join(root, path))
		to, keptTo := text(filepath.Join(root, other))
		defer func() { _, _ = keptAt, keptTo }()
		folder := uintptr(1<<64 - 100) // AT_FDCWD
		var stat unix.Stat_t
		var buffer [64]byte
		said := ""
		switch call {
		case "stat":
			_, said = raw(unix.SYS_STAT, at, uintptr(unsafe.Pointer(&stat)))
		case "lstat":
			_, said = raw(unix.SYS_LSTAT, at, uintptr(unsafe.Pointer(&stat)))
		case "statat":
			_, said = raw(unix.SYS_NEWFSTATAT, folder, at, uintptr(unsafe.Pointer(&stat)))
		case "access":
			_, said = raw(unix.SYS_ACCESS, at, unix.F_OK)
		case "unlink":
			_, said = raw(unix.SYS_UNLINK, at)
		case "unlinkat":
			_, said = raw(unix.SYS_UNLINKAT, folder, at)
		case "rmdir":
			_, said = raw(unix.SYS_RMDIR, at)
		case "mkdir":
			_, said = raw(unix.SYS_MKDIR, at, 0o755)
		case "mkdirat":
			_, said = raw(unix.SYS_MKDIRAT, folder, at, 0o755)
		case "rename":
			_, said = raw(unix.SYS_RENAME, at, to)
		case "renameat":
			_, said = raw(unix.SYS_RENAMEAT, folder, at, folder, to)
		case "truncate":
			_, said = raw(unix.SYS_TRUNCATE, at, 300)
		case "readlink":
			_, said = raw(unix.SYS_READLINK, at, uintptr(unsafe.Pointer(&buffer[0])), 64)
		}
		if stat.Mode&unix.S_IFDIR != 0 {
			stat.Size = 0 // of a folder, which is the file system's affair
		}
		return fmt.Sprint(said, stat.Mode, stat.Size)
	})
}

// rawFile opens a file, does what databases do with it, and closes it, by numbers.
func (p *pair) rawFile(r *rapid.T) {
	path, at := name(r, "path"), offsets.Draw(r, "at")
	flags := uintptr(rapid.SampledFrom([]int{unix.O_RDWR, unix.O_RDWR | unix.O_CREAT, unix.O_RDONLY}).Draw(r, "flags"))
	maps := rapid.Bool().Draw(r, "map")
	p.both(r, "raw open "+path, func(root string, _ int) string {
		name, kept := text(filepath.Join(root, path))
		fd, said := raw(unix.SYS_OPEN, name, flags, 0o600)
		_ = kept
		var stat unix.Stat_t
		if _, failed := raw(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(&stat))); fd < 0 || failed != "errno 0" || stat.Mode&unix.S_IFDIR != 0 {
			_, _ = raw(unix.SYS_CLOSE, uintptr(fd))
			return said
		}
		tell := func(what string, trap uintptr, arguments ...uintptr) {
			n, errno := raw(trap, append([]uintptr{uintptr(fd)}, arguments...)...)
			said += fmt.Sprintln(what, n, errno)
		}
		content, buffer := []byte("content"), make([]byte, 16)
		tell("pwrite", unix.SYS_PWRITE64, uintptr(unsafe.Pointer(&content[0])), uintptr(len(content)), uintptr(at))
		tell("write", unix.SYS_WRITE, uintptr(unsafe.Pointer(&content[0])), uintptr(len(content)))
		tell("lseek", unix.SYS_LSEEK, 2, unix.SEEK_SET)
		tell("read", unix.SYS_READ, uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)))
		said += string(buffer)
		tell("pread", unix.SYS_PREAD64, uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)), uintptr(at))
		said += string(buffer)
		lock := unix.Flock_t{Type: unix.F_WRLCK}
		if flags&unix.O_RDWR != 0 {
			tell("setlk", unix.SYS_FCNTL, unix.F_SETLK, uintptr(unsafe.Pointer(&lock)))
		}
		tell("getlk", unix.SYS_FCNTL, unix.F_GETLK, uintptr(unsafe.Pointer(&lock)))
		said += fmt.Sprintln(lock.Type)
		tell("fdatasync", unix.SYS_FDATASYNC)
		if flags&unix.O_RDWR != 0 && maps {
			tell("ftruncate", unix.SYS_FTRUNCATE, 4096)
			address, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, uintptr(fd), 0)
			require.Zero(r, errno)
			*(*[4]byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))) = [4]byte{'m', 'a', 'p', 's'}
			_, errnoOf := raw(unix.SYS_MUNMAP, address, 4096)
			said += errnoOf
			tell("ftruncate", unix.SYS_FTRUNCATE, 700)
		}
		tell("close", unix.SYS_CLOSE)
		return said
	})
}

// What asks the operating system by itself has the clock, the seed and the processes of the simulation, too.
func TestTheWorldAnswersRawCalls(t *testing.T) {
	draw := func(seed uint64) (drawn [8]byte) {
		drawn, _ = isolate.Value(t, sim.Config{Source: sim.FromSeed(seed)}, func(*sim.World) (drawn [8]byte) {
			began := time.Now()
			for _, sleep := range []func(*unix.Timespec) string{
				func(wait *unix.Timespec) string {
					_, errno := raw(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(wait)))
					return errno
				},
				func(wait *unix.Timespec) string {
					_, errno := raw(unix.SYS_CLOCK_NANOSLEEP, 0, 0, uintptr(unsafe.Pointer(wait)))
					return errno
				},
			} {
				if errno := sleep(&unix.Timespec{Sec: 60}); errno != "errno 0" {
					panic(errno)
				}
			}
			if passed := time.Since(began); passed != 2*time.Minute {
				panic(passed)
			}
			var now, monotonic unix.Timespec
			var day unix.Timeval
			_, _ = raw(unix.SYS_CLOCK_GETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&now)))
			_, _ = raw(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&monotonic)))
			_, _ = raw(unix.SYS_GETTIMEOFDAY, uintptr(unsafe.Pointer(&day)))
			if simulated := time.Now(); now.Nano() != simulated.UnixNano() || day.Sec != simulated.Unix() || monotonic.Sec != 120 {
				panic(fmt.Sprint(now, day, monotonic, simulated))
			}
			if pid, _ := raw(unix.SYS_GETPID); pid != 1<<22 || pid != os.Getpid() || unix.Kill(pid, 0) != unix.ESRCH {
				panic(pid)
			}
			var more [8]byte
			if n, errno := raw(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&more[0])), 8, 0); n != 8 || more == drawn {
				panic(errno)
			}
			path, kept := text("/dev/urandom")
			fd, _ := raw(unix.SYS_OPEN, path, unix.O_RDONLY)
			_ = kept
			if n, errno := raw(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&drawn[0])), 8); n != 8 {
				panic(errno)
			}
			if _, errno := raw(unix.SYS_CLOSE, uintptr(fd)); errno != "errno 0" {
				panic(errno)
			}
			return drawn
		})
		return drawn
	}
	require.Equal(t, draw(1), draw(1))
	require.NotEqual(t, draw(1), draw(2))
}
