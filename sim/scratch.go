package sim

import (
	"fmt"
	"syscall"
)

// scratch is memory that only a run in progress may use. It is mapped once and
// not cleared, and pages that are never written cost no memory.
type scratch struct{ memory []byte }

var tapeMemory, traceMemory scratch

// reserve returns size bytes, the same in every run.
func (s *scratch) reserve(size int) []byte {
	if len(s.memory) < size {
		memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
		if err != nil {
			panic(fmt.Sprintf("cannot reserve %d bytes of memory for a recording: %v", size, err))
		}
		s.memory = memory
	}
	return s.memory[:size]
}

// release gives the pages back to the system, and leaves the memory reserved.
func (s *scratch) release() {
	if len(s.memory) > 0 {
		// Where that is not possible the memory stays in use, which does no harm.
		_ = syscall.Madvise(s.memory, syscall.MADV_DONTNEED)
	}
}
