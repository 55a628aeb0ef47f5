package swarm

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tapeMax is how much tape is left of a run that ends its process, in bytes.
const tapeMax = 64 << 20

// tapeFile is the descriptor at which a worker that is started by this package finds
// memory for a tape.
const tapeFile = 3

// newTape is memory for a tape. It is a file without a name, so that nothing is left of
// it once nobody has it open.
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

// mapTape returns the memory for the tapes of a worker's runs, which its copies share.
// That of a worker which was started by hand has no file. Nobody else learns of the
// mapping, as package unix would keep a note of it that the code under test can notice.
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

// clearTape makes a tape zero again. A tape that it cannot clear says more than there
// was of a run that ends its process, and nothing else reads it.
func clearTape(tape []byte) { _ = unix.Madvise(tape, unix.MADV_REMOVE) }
