package swarm

import (
	"fmt"
	"os"

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

// prepare makes room for the tape of a run that is to leave a folder, or clears it. The
// copies of the worker share it.
func (w *worker) prepare() (err error) {
	flags, fd := unix.MAP_SHARED|unix.MAP_NORESERVE, w.job.TapeFile
	if fd == 0 {
		flags, fd = flags|unix.MAP_ANON, -1
	}
	switch {
	case w.job.Folder == "":
	case w.tape == nil:
		w.tape, err = unix.Mmap(fd, 0, tapeMax, unix.PROT_READ|unix.PROT_WRITE, flags)
	default:
		err = unix.Madvise(w.tape, unix.MADV_REMOVE)
	}
	if err != nil {
		return fmt.Errorf("cannot make room for a tape of %d bytes: %w", tapeMax, err)
	}
	return nil
}
