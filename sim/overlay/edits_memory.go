package overlay

// memoryEdits let workers use their memory again instead of asking for more.
var memoryEdits = []Edit{
	replace("runtime/stack.go", "var startingStackSize uint32 = fixedStack\n", "var startingStackSize uint32 = 16 << 10\n",
		"process-wide: the stacks of servers outgrow 2 KiB at once, and each growth is a copy"),

	replace("runtime/proc.go", "		newg = malg(stackMin)\n		casgstatus(newg, _Gidle, _Gdead)\n		allgadd(newg)", "		newg = malg(int32(startingStackSize))\n		casgstatus(newg, _Gidle, _Gdead)\n		allgadd(newg)",
		"process-wide: the first stack of a goroutine, too"),

	replace("runtime/proc.go", "	if stksize != uintptr(startingStackSize) {\n", "	if stksize < uintptr(startingStackSize) || stksize > 64<<10 {\n",
		"process-wide: a stack that has grown serves the next goroutine"),

	replace("runtime/proc.go", "	if gp.stack.lo != 0 && gp.stack.hi-gp.stack.lo != uintptr(startingStackSize) {\n",
		"	if gp.stack.lo != 0 && gp.stack.hi-gp.stack.lo < uintptr(startingStackSize) {\n",
		"process-wide: a stack that has grown serves the next goroutine"),

	replace("runtime/mheap.go", "	sysMap(unsafe.Pointer(v), nBase-v, &gcController.heapReleased, \"heap\")\n\n	// The memory just allocated", `	sysMap(unsafe.Pointer(v), nBase-v, &gcController.heapReleased, "heap")
	simGrown(v, nBase-v)

	// The memory just allocated`, "what a copy of the process adds to the heap is had in few page faults"),

	after("runtime/mgcscavenge.go", "func gcPaceScavenger(memoryLimit int64, heapGoal, lastHeapGoal uint64) {\n", `	if simOutside != 0 {
		scavenge.memoryLimitGoal.Store(^uint64(0))
		scavenge.gcPercentGoal.Store(^uint64(0))
		return
	}
`, "process-wide: what the collector frees is soon used again"),
}
