package fork

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OwnProgram moves the instructions and constants of this process from its executable file
// to anonymous memory, at the same addresses and in huge pages where available. Page tables
// of anonymous memory are copied with the process; pages of a file would have to be faulted
// in again by every copy.
func OwnProgram() error {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("cannot read this program: %w", err)
	}
	defer program.Close()
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("cannot tell where this program is: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("cannot tell where this program is in memory: %w", err)
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var access, device string
		var offset, inode int64
		if _, err := fmt.Sscanf(line, "%x-%x %s %x %s %d", &from, &to, &access, &offset, &device, &inode); err != nil {
			return fmt.Errorf("expected a line of /proc/self/maps, found %q: %w", line, err)
		}
		if !strings.HasSuffix(line, " "+path+"\n") || strings.Contains(access, "w") {
			continue
		}
		prot := unix.PROT_READ
		if strings.Contains(access, "x") {
			prot |= unix.PROT_EXEC
		}
		if err := own(io.NewSectionReader(program, offset, int64(to-from)), from, to-from, prot); err != nil {
			return fmt.Errorf("cannot move this program in memory: %w", err)
		}
	}
	return nil
}

// hugePage is the size of a huge page, in bytes.
const hugePage = 2 << 20

// own makes the memory at an address anonymous, with the given content.
func own(content io.Reader, address, size uintptr, prot int) error {
	memory, err := unix.MmapPtr(-1, 0, nil, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	// Huge pages begin at the same offsets as at the target address.
	skip := (address - uintptr(memory)) % hugePage
	moved := unsafe.Slice((*byte)(unsafe.Add(memory, skip)), size)
	_ = unix.Madvise(moved, unix.MADV_HUGEPAGE) // small ones do as well
	if _, err := io.ReadFull(content, moved); err != nil {
		return err
	}
	if err := unix.Mprotect(moved, prot); err != nil {
		return err
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_MREMAP, uintptr(memory)+skip, size, size,
		unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, address, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
