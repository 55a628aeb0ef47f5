package sim

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scratch is memory for the run of a process. Unwritten pages cost no memory.
type scratch struct{ memory []byte }

var tapeMemory, traceMemory scratch

// reserve returns size bytes, the same each time.
func (s *scratch) reserve(size int) []byte {
	if len(s.memory) < size {
		// unix.Mmap records mappings where the code under test could notice.
		memory, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
		if err != nil {
			panic(fmt.Sprintf("cannot reserve %d bytes of memory for a recording: %v", size, err))
		}
		s.memory = unsafe.Slice((*byte)(memory), size)
	}
	return s.memory[:size]
}
