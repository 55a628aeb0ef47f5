package swarm

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tapeMax bounds the tape that is kept of a run that ends its process, in bytes.
const tapeMax = 64 << 20

// tapeFile is the descriptor at which a worker that is started by this package finds
// memory for a tape.
const tapeFile = 3

// newTape returns memory for a tape: an unnamed file, which is gone once no process has it
// open.
func newTape() (*os.File, error) {
	fd, err := unix.MemfdCreate("tape", unix.MFD_CLOEXEC)
	if err == nil {
		file := os.NewFile(uintptr(fd), "tape")
		if err = file.Truncate(tapeMax); err == nil {
			return file, nil
		}
		file.Close()
	}
	return nil, fmt.Errorf("cannot make room for a tape of %d bytes: %w", tapeMax, err)
}

// mapTape maps the memory for the tapes of a worker's runs, which its copies share. A worker
// that was started by hand has no file for it. MmapPtr is used because unix.Mmap records
// mappings in a map, which the code under test could notice.
func mapTape(fd int) ([]byte, error) {
	flags := unix.MAP_SHARED | unix.MAP_NORESERVE
	if fd == 0 {
		flags, fd = flags|unix.MAP_ANON, -1
	}
	memory, err := unix.MmapPtr(fd, 0, nil, tapeMax, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, fmt.Errorf("cannot make room for a tape of %d bytes: %w", tapeMax, err)
	}
	return unsafe.Slice((*byte)(memory), tapeMax), nil
}

// clearTape zeroes a tape. If that fails, the tape of a run that ends its process has extra
// decisions at its end; nothing else reads it.
func clearTape(tape []byte) { _ = unix.Madvise(tape, unix.MADV_REMOVE) }
