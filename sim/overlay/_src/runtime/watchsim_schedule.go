// This file is added to package runtime by watchsim's toolchain overlay.
//
// The scheduler: which goroutine runs, when it is interrupted, and how long it is
// held up.

package runtime

import "unsafe"

// simPut makes a simulated goroutine runnable.
//
//go:nowritebarrierrec
func simPut(gp *g) {
	if sim.n == simQueueMax {
		throw("watchsim: more than 65536 runnable goroutines")
	}
	sim.queue[sim.n].set(gp)
	sim.n++
}

// simReady reports whether the scheduler has a simulated goroutine to run.
//
//go:nosplit
func simReady() bool {
	return sim.on && !sim.paused && (sim.n > 0 || sim.sticky != 0)
}

// simPick takes the next goroutine to run: this is the scheduling decision.
// The queue keeps its order, so that choosing 0 throughout is plain FIFO.
//
//go:nowritebarrierrec
func simPick() *g {
	if sim.asked || simPauseDue() {
		if root := simPausing(); root != nil {
			return root
		}
	}
	if sim.sticky != 0 {
		gp := sim.sticky.ptr()
		sim.sticky = 0
		return gp
	}
	if sim.c.stop != simStopNone && !sim.stopping {
		return simAbandon()
	}
	k := 0
	if sim.p.explore == simSteered {
		k = simExplorePick()
	} else if sim.n > 1 {
		k = int(simChoose(simKindPick, uint32(sim.n)))
	}
	gp := sim.queue[k].ptr()
	sim.n--
	for i := k; i < sim.n; i++ {
		sim.queue[i] = sim.queue[i+1]
	}
	sim.queue[sim.n] = 0
	if gp == sim.bubble.root {
		// The root only moves the clock. How often it wakes up on the way to the
		// next timer depends on what else is left in the heap of timers.
		return gp
	}
	sim.c.switches++
	sim.c.running = gp.simID
	if sim.p.trace != nil {
		simTrace(simTracePick, gp.simID, false)
	}
	// The synchronisation points passed and the random numbers drawn say more of
	// what ran than the decisions do: two runs part here at the latest.
	simHash(gp.simID ^ sim.c.points<<20 ^ sim.c.randoms<<42)
	simHash(uint64(sim.bubble.now))
	return gp
}

// simAbandon ends a run early: whatever is runnable is forgotten, and the
// bubble's root, which waits in synctestRun, is the only one to go on.
//
//go:nowritebarrierrec
func simAbandon() *g {
	sim.stopping = true
	root := sim.bubble.root
	sim.n = 0
	if readgstatus(root)&^_Gscan == _Gwaiting {
		casgstatus(root, _Gwaiting, _Grunnable)
	}
	return root
}

// simIdle is called by the bubble's root when every goroutine waits. It reports
// whether the run is over; next is when the next timer fires, 0 for never.
func simIdle(bubble *synctestBubble, next int64) bool {
	for sim.p.pauseInstant != 0 && next-sim.begin > sim.p.pauseInstant && sim.c.stop == simStopNone && !bubble.done {
		sim.p.pauseInstant = 0
		unlock(&bubble.mu)
		simPause(bubble.root)
		lock(&bubble.mu)
	}
	switch {
	case sim.c.stop != simStopNone:
		return true
	case bubble.done:
		return true
	case next == 0:
		sim.c.stop = simStopDeadlock
		return true
	case next-sim.begin > sim.p.maxTime:
		sim.c.stop = simStopTime
		return true
	}
	return false
}

// simCollect is called by the bubble's root when every goroutine waits. It
// collects garbage if the heap has outgrown its limit; the root leaves the bubble
// meanwhile, so that its waiting for the collector does not move the clock.
func simCollect(root *g) {
	if sim.p.collectAt == 0 || gcController.heapLive.Load() < sim.p.collectAt {
		return
	}
	bubble := root.bubble
	root.bubble = nil
	GC()
	root.bubble = bubble
	// What is alive now stays alive, so that the limit moves along with it.
	sim.p.collectAt = max(sim.p.collectAt, 2*gcController.heapLive.Load())
}

// simPoint is a synchronisation point: mostly nothing happens; sometimes the
// goroutine yields; rarely it stalls, so that timers and other goroutines can
// overtake it right here.
//
//go:linkname simPoint
func simPoint() {
	if !sim.on {
		return
	}
	gp := getg()
	if !simMayWait(gp) {
		return
	}
	sim.c.points++
	if sim.p.trace != nil {
		simTrace(simTracePoint, gp.simID, true)
	}
	sim.countdown--
	if gp == sim.bubble.root {
		return
	}
	if simSpins(&sim.passed) {
		simHold(gp, simSpinSleep)
		return
	}
	if simPauseDue() {
		simAskPause()
	}
	if sim.quiet {
		return
	}
	if sim.p.explore == simSteered {
		simStep(gp)
		return
	}
	if sim.p.focusOneIn != 0 && simFocused() {
		simStall(gp)
		return
	}
	if sim.countdown > 0 {
		return
	}
	simYield(gp)
}

// simMayWait reports whether a goroutine of the simulation can be held up where it is.
func simMayWait(gp *g) bool {
	return gp.bubble != nil && gp.bubble == sim.bubble && gp.m.locks == 0 && gp == gp.m.curg && gp.m.preemptoff == "" && gp.simAside == 0
}

// simSpins counts something that goroutines do at one instant, and reports whether it was too often.
func simSpins(count *int) bool {
	if sim.instant != sim.bubble.now {
		sim.instant, sim.passed, sim.busy = sim.bubble.now, 0, 0
	}
	if *count++; *count < simSpinPoints {
		return false
	}
	*count = 0
	sim.c.spins++
	return true
}

// simBusy notes that a goroutine reads the clock, or offers its turn. One that does nothing
// else waits for what cannot happen while it runs.
//
//go:yeswritebarrierrec
func simBusy() {
	if gp := getg(); sim.on && simMayWait(gp) && gp != sim.bubble.root && simSpins(&sim.busy) {
		simHold(gp, simSpinSleep)
	}
}

func simYield(gp *g) {
	mean := sim.p.yieldMean
	if mean == 0 {
		sim.countdown = 1 << 62
		return
	}
	sim.countdown = 1 + int64(simChoose(simKindYield, 2*mean))
	if sim.p.stallOneIn > 0 && simChoose(simKindStall, sim.p.stallOneIn) == 1%sim.p.stallOneIn {
		simStall(gp)
		return
	}
	sim.c.yields++
	mcall(gosched_m)
}

func simStall(gp *g) {
	sim.c.stalls++
	simHold(gp, simStallLength())
}

func simHold(gp *g, length int64) {
	gp.simStalled = true
	timeSleep(length)
	gp.simStalled = false
}

// simStallLength draws from stallMin to stallMax, every order of magnitude as
// likely as every other.
func simStallLength() int64 {
	const steps = 256
	k := simChoose(simKindLength, steps)
	length := sim.p.stallMin
	for i := uint32(0); i < k && length < sim.p.stallMax; i++ {
		length += length/24 + 1
	}
	return min(length, sim.p.stallMax)
}

// simLocked and simUnlocked are synchronisation points at a mutex. The count
// tells a crash which goroutines hold a lock that others may need.
//
//go:linkname simLocked
func simLocked(lock unsafe.Pointer, shared bool) {
	if !sim.on {
		return
	}
	simPoint()
	getg().simLocks++
	if shared {
		simLook(lock, simEventRead)
	} else {
		simTouch(lock, simEventLock)
	}
}

//go:linkname simUnlocked
func simUnlocked(lock unsafe.Pointer, shared bool) {
	if !sim.on {
		return
	}
	getg().simLocks--
	if !shared {
		simTouch(lock, simEventUnlock)
	}
	simPoint()
}
