package sim

import (
	"fmt"
	"syscall"
)

var scratchMemory []byte

// scratch returns at least size bytes that only a run in progress may use. They
// are mapped once and not cleared, and pages that are never written cost no
// memory.
func scratch(size int) []byte {
	if len(scratchMemory) < size {
		memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(fmt.Sprintf("cannot reserve %d bytes for the tape: %v", size, err))
		}
		scratchMemory = memory
	}
	return scratchMemory[:size]
}
