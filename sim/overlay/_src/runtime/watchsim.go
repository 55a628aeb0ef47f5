// This file is added to package runtime by watchsim's toolchain overlay.
//
// It is the kernel of the simulation: one run queue, one source of decisions,
// and one running hash of every decision. It acts only on the goroutines of one
// bubble, the one that simRun started; everything else in the process is
// scheduled as usual.
//
// The scheduler may not have write barriers, so that the queue holds guintptr,
// and nothing here allocates. There is one P (GOMAXPROCS=1) and no collection
// while a simulation runs, so that nothing here needs a lock.

package runtime

import (
	"internal/runtime/math"
	"unsafe"
)

const (
	simQueueMax = 1 << 16 // runnable goroutines at one time
	simGroupMax = 1 << 12 // process groups in one run

	// A goroutine that goes round in circles until another has done something
	// takes no simulated time. If that other one is asleep it would never wake
	// up. So many synchronisation points at one instant therefore take a while.
	simSpinPoints = 20000
	simSpinSleep  = 10_000_000 // nanoseconds

	simStopNone      = 0
	simStopDecisions = 1 // the budget of decisions is used up
	simStopTime      = 2 // the budget of simulated time is used up
	simStopDeadlock  = 3 // every goroutine waits, and no timer is pending
	simStopAsked     = 4 // the breakpoint was reached

	simTraceWords    = 16 // decision, kind, what it is about, instant, and up to 12 callers
	simTracePick     = 1
	simTracePoint    = 2
	simTraceDraw     = 3
	simTraceDecision = 16 // plus the kind of decision
)

// simKind is what a decision decides. Package kernel declares the same.
type simKind uint32

const (
	simKindPick   simKind = 1 // which goroutine runs
	simKindYield  simKind = 2 // a goroutine is interrupted: how many points to the next time
	simKindStall  simKind = 3 // whether that interruption is a stall
	simKindFocus  simKind = 4 // whether a visit of a place in focus is a stall
	simKindLength simKind = 5 // how long a stall is
	simKindSelect simKind = 6 // which case a select looks at first
	simKindPoint  simKind = 7 // what a goroutine that is steered does at a point
)

// simParams is what a run is started with. Package kernel declares the same
// struct; keep both alike.
type simParams struct {
	schedSeed    uint64
	codeSeed     uint64
	maxDecisions uint64
	maxTime      int64  // nanoseconds of simulated time
	yieldMean    uint32 // synchronisation points from one yield to the next, on average
	stallOneIn   uint32 // one yield in so many is a stall; 0 for none
	stallMin     int64  // nanoseconds
	stallMax     int64
	breakAt      uint64 // stop at this decision; 0 for never

	replay    unsafe.Pointer // the tape to follow, one byte or more a decision
	replayLen int
	record    unsafe.Pointer // where to write the tape
	recordCap int
	collectAt uint64 // collect garbage when every goroutine waits and the heap is larger, bytes

	trace    unsafe.Pointer // where to write what happens
	traceCap int            // in records of simTraceWords words

	focusSeed  uint64 // which places are in focus
	focusOneIn uint64 // one place in so many; 0 for none

	explore    uint64         // simSteered or simObserved for a run that explores
	scope      string         // what the names of functions in scope begin with
	holds      unsafe.Pointer // how long to be held up, nanoseconds
	holdsLen   int
	changes    unsafe.Pointer // a plan of priorities, simChange by simChange
	changesLen int
	choices    unsafe.Pointer // where to write the decisions, simChosen by simChosen
	choicesCap int
	setWindow  func(open bool) // filled in here

	pauseAt      uint64 // pause when the scheduler is next asked after that many decisions; 0 for never
	pauseInstant int64  // pause before the clock goes beyond it, nanoseconds since the run began; 0 for never
}

// simCounters is what a run reports. Package kernel declares the same struct.
type simCounters struct {
	hash       uint64
	decisions  uint64
	points     uint64
	yields     uint64
	stalls     uint64
	switches   uint64
	randoms    uint64
	now        int64
	stop       uint32
	diverged   uint32 // the tape offered a choice that was not there
	tapeFull   uint32
	foreign    uint32 // times a simulated goroutine ran without being picked
	replayed   int    // bytes of tape used
	recorded   int    // bytes of tape written
	goroutines uint64 // goroutines created
	identities uint64 // pointers hashed by identity
	running    uint64 // the goroutine that ran last
	traced     int    // records of trace written
	spins      uint64 // times that simSpinPoints were passed at one instant

	shape       uint64 // of a run that explores, up to the end of its window
	state       uint64 // where it was at the end of its window
	steps       uint64 // synchronisation points in scope within the window
	choices     int    // decisions written
	choicesFull uint64 // there was no room for one
}

var sim struct {
	on        bool
	starting  bool
	quiet     bool // no yields and no stalls, for the end of a run
	stopping  bool
	asked     bool // a goroutine wants the run to pause where it is
	pausing   bool // the root has been picked to pause the run
	paused    bool // nothing of the run is picked
	ran       bool // a process simulates once
	copied    bool // this process is a copy of another
	onPause   func()
	bubble    *synctestBubble
	begin     int64
	countdown int64
	instant   int64 // when the last synchronisation point was passed
	passed    int   // those passed at that instant
	sched     uint64
	code      uint64
	sticky    guintptr
	n         int
	queue     [simQueueMax]guintptr
	dead      [simGroupMax]bool
	wall      [simGroupMax]int64 // by how much the wall clock of a process is ahead, in nanoseconds
	p         simParams
	c         simCounters
}

// simInitialised is set when all packages have been initialised. Until then the wall clock
// stands at simInitTime, in seconds since 1970, which is where that of a simulation begins.
var simInitialised bool

const simInitTime = 946684800

// simOutside is the random state of everything that is not simulated. It starts
// the same in every process, so that maps made by package initialisers do too.
var simOutside uint64 = 0x9e3779b97f4a7c15

// simChannels counts the channels that simulated goroutines have made in this
// process. Only the order matters, and that is the same in every process.
var simChannels uintptr

//go:nosplit
func simMix(state *uint64) uint64 {
	*state += 0xa0761d6478bd642f
	hi, lo := math.Mul64(*state, *state^0xe7037ed1a0b428db)
	return hi ^ lo
}

//go:nosplit
func simHash(x uint64) {
	h := (sim.c.hash ^ x) * 0x9fb21c651e98df25
	sim.c.hash = h ^ h>>32
}

// simOwns reports whether gp belongs to the running simulation.
//
//go:nosplit
func simOwns(gp *g) bool {
	return sim.on && gp.bubble != nil && gp.bubble == sim.bubble
}

// simGone reports whether gp may never run again: its process has crashed, or
// the run it belonged to is over.
//
//go:nosplit
func simGone(gp *g) bool {
	b := gp.bubble
	if b == nil || !b.sim {
		return false
	}
	return !sim.on || b != sim.bubble || sim.dead[gp.simGroup]
}

// simChoose is one decision between n alternatives.
//
//go:nosplit
func simChoose(kind simKind, n uint32) uint32 {
	var k uint32
	if sim.c.replayed < sim.p.replayLen {
		k = simTapeRead()
		if k >= n {
			if sim.c.diverged == 0 {
				sim.c.diverged = 1
			}
			k %= n
		}
	} else if sim.p.replay != nil {
		// The tape has ended: the plainest choice from here on.
		sim.c.diverged = 1
		k = 0
	} else if sim.p.explore == simSteered {
		k = simExplored.planned
	} else {
		hi, _ := math.Mul64(simMix(&sim.sched), uint64(n))
		k = uint32(hi)
	}
	if sim.p.record != nil {
		simTapeWrite(k)
	}
	sim.c.decisions++
	simHash(uint64(n)<<32 | uint64(k))
	if sim.p.trace != nil {
		simTrace(simTraceDecision+uint64(kind), uint64(n)<<32|uint64(k), false)
	}
	if sim.c.decisions == sim.p.breakAt {
		sim.c.stop = simStopAsked
	} else if sim.c.decisions >= sim.p.maxDecisions && sim.c.stop == simStopNone {
		sim.c.stop = simStopDecisions
	}
	return k
}

// A choice below 255 is one byte; a larger one is 255 and four bytes, least
// significant first.
//
//go:nosplit
func simTapeRead() uint32 {
	b := *(*byte)(add(sim.p.replay, uintptr(sim.c.replayed)))
	sim.c.replayed++
	if b < 255 {
		return uint32(b)
	}
	if sim.c.replayed+4 > sim.p.replayLen {
		sim.c.replayed = sim.p.replayLen
		sim.c.diverged = 1
		return 0
	}
	var k uint32
	for i := 0; i < 4; i++ {
		k |= uint32(*(*byte)(add(sim.p.replay, uintptr(sim.c.replayed)))) << (8 * i)
		sim.c.replayed++
	}
	return k
}

//go:nosplit
func simTapeWrite(k uint32) {
	if sim.c.recorded+5 > sim.p.recordCap {
		sim.c.tapeFull = 1
		return
	}
	if k < 255 {
		*(*byte)(add(sim.p.record, uintptr(sim.c.recorded))) = byte(k)
		sim.c.recorded++
		return
	}
	*(*byte)(add(sim.p.record, uintptr(sim.c.recorded))) = 255
	sim.c.recorded++
	for i := 0; i < 4; i++ {
		*(*byte)(add(sim.p.record, uintptr(sim.c.recorded))) = byte(k >> (8 * i))
		sim.c.recorded++
	}
}

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

// simTrace writes one record of what happens, for finding where two runs part.
//
//go:nosplit
func simTrace(kind, what uint64, callers bool) {
	if sim.c.traced == sim.p.traceCap {
		return
	}
	record := (*[simTraceWords]uintptr)(add(sim.p.trace, uintptr(sim.c.traced)*simTraceWords*8))
	sim.c.traced++
	clear(record[:])
	record[0], record[1], record[2], record[3] = uintptr(sim.c.decisions), uintptr(kind), uintptr(what), uintptr(sim.bubble.now-sim.begin)
	if callers {
		fpTracebackPCs(unsafe.Pointer(getfp()), record[4:])
	}
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
	if gp.bubble == nil || gp.bubble != sim.bubble || gp.m.locks != 0 || gp != gp.m.curg || gp.m.preemptoff != "" {
		return
	}
	if gp.simAside > 0 {
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
	if sim.instant != sim.bubble.now {
		sim.instant, sim.passed = sim.bubble.now, 0
	}
	if sim.passed++; sim.passed >= simSpinPoints {
		sim.passed = 0
		sim.c.spins++
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

// simAside and simBack frame what looks at a run and is no part of it, such as the
// writing of a log: between them nothing is a synchronisation point, a decision, or a
// draw from the run's random numbers.
//
//go:linkname simAside
func simAside() {
	gp := getg()
	if gp.simAside == 0 {
		gp.simAsideRandom = 0x243f6a8885a308d3
		gp.simAsideID = (gp.simID<<32 ^ sim.c.points) * 0x9fb21c651e98df25
	}
	gp.simAside++
}

//go:linkname simBack
func simBack() { getg().simAside-- }

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
	Gosched()
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

// simRandom is a random number for the code under test.
//
//go:nosplit
func simRandom() uint64 {
	gp := getg()
	if sim.on && (gp.bubble == sim.bubble || (gp.m.curg != nil && gp.m.curg.bubble == sim.bubble)) {
		if gp.bubble != sim.bubble {
			gp = gp.m.curg // on a stack of the system
		}
		if gp.simAside > 0 {
			return simMix(&gp.simAsideRandom)
		}
		sim.c.randoms++
		if sim.p.trace != nil {
			simTrace(simTraceDraw, sim.c.randoms, true)
		}
		if sim.p.explore == simSteered {
			// What one goroutine draws depends on no other.
			return simMix(&gp.simCode)
		}
		return simMix(&sim.code)
	}
	return simMix(&simOutside)
}

//go:linkname simFill
func simFill(b []byte) bool {
	if !simActive() {
		return false
	}
	for len(b) > 0 {
		x := simRandom()
		for i := 0; i < 8 && len(b) > 0; i++ {
			b[0] = byte(x >> (8 * i))
			b = b[1:]
		}
	}
	return true
}

// simActive reports whether the calling goroutine is simulated.
//
//go:linkname simActive
//go:nosplit
func simActive() bool {
	gp := getg()
	return sim.on && gp.bubble != nil && gp.bubble == sim.bubble
}

// simRun runs f and everything it starts as one simulation, and returns when
// f has returned and nothing else can run at that instant, or a budget is used
// up. Goroutines that are left over never run again. onPause is called where the
// run pauses.
func simRun(params *simParams, counters *simCounters, f func(), onPause func()) {
	if sim.ran || getg().bubble != nil {
		panic("watchsim: a process simulates once")
	}
	sim.ran = true
	sim.onPause = onPause
	sim.c.hash = 0xcbf29ce484222325
	simBeginRun(params)
	simExploreBegin(getg())
	sim.starting = true
	synctestRun(f)
	simExploreEnd()
	sim.c.now = sim.bubble.now - sim.begin
	*counters = sim.c
	sim.on = false
	clear(sim.queue[:sim.n])
	sim.n = 0
	sim.sticky = 0
}

// simBegin is called by synctestRun for each bubble before anything runs in it.
func simBegin(bubble *synctestBubble) {
	if !sim.starting {
		return
	}
	sim.starting = false
	bubble.sim = true
	sim.bubble = bubble
	sim.begin = bubble.now
	sim.on = true
}

// simBorn gives a new goroutine its place in the simulation.
func simBorn(newg, parent *g) {
	newg.simLocks = 0
	newg.simStalled = false
	newg.simAside = 0
	newg.simID = 0
	newg.simGroup = 0
	if newg.bubble != nil && newg.bubble == sim.bubble {
		newg.simGroup = parent.simGroup
		sim.c.goroutines++
		newg.simID = sim.c.goroutines
		if sim.p.explore != 0 {
			simExploreBorn(newg, parent)
		}
	}
}

func simSetGroup(group uint32) uint32 {
	gp := getg()
	old := gp.simGroup
	gp.simGroup = group
	return old
}

func simGroup() uint32 { return getg().simGroup }

// simSetWall sets by how much the wall clock of a group is ahead of the others.
func simSetWall(group uint32, ahead int64) { sim.wall[group] = ahead }

func simSetQuiet(quiet bool) {
	sim.quiet = quiet
	if !quiet {
		sim.countdown = 1
	}
}

// simKill marks a group dead: none of its goroutines is ever made ready again,
// none of its timers fires, and those that are runnable are forgotten.
func simKill(group uint32) {
	if getg().simGroup == group {
		panic("watchsim: a process cannot crash itself")
	}
	sim.dead[group] = true
	kept := 0
	for i := 0; i < sim.n; i++ {
		gp := sim.queue[i].ptr()
		if gp.simGroup == group && gp != sim.bubble.root {
			// It is neither in a queue nor running, which is what waiting means;
			// otherwise the bubble would count it as running for ever.
			gp.waitreason = waitReasonSelectNoCases
			casgstatus(gp, _Grunnable, _Gwaiting)
			continue
		}
		sim.queue[kept] = sim.queue[i]
		kept++
	}
	for i := kept; i < sim.n; i++ {
		sim.queue[i] = 0
	}
	sim.n = kept
}

// simFragile counts the goroutines of a group (of all groups, if all is set)
// that must not be stopped for good right now: those stalled while they hold a
// lock, and those that queue for one. A lock that belongs to the whole process,
// such as a metrics registry's, would never be free again.
func simFragile(group uint32, all bool) int {
	n := 0
	self := getg()
	forEachG(func(gp *g) {
		if gp == self || gp.bubble == nil || gp.bubble != sim.bubble || sim.dead[gp.simGroup] {
			return
		}
		if !all && gp.simGroup != group {
			return
		}
		if readgstatus(gp)&^_Gscan != _Gwaiting {
			return
		}
		if gp.simStalled && gp.simLocks > 0 {
			n++
			return
		}
		switch gp.waitreason {
		case waitReasonSyncMutexLock, waitReasonSyncRWMutexRLock, waitReasonSyncRWMutexLock:
			n++
		}
	})
	return n
}

// simAlive counts the goroutines of a group that are left.
func simAlive(group uint32) int {
	n := 0
	forEachG(func(gp *g) {
		if gp.bubble != nil && gp.bubble == sim.bubble && gp != sim.bubble.root && gp.simGroup == group && readgstatus(gp)&^_Gscan != _Gdead {
			n++
		}
	})
	return n
}

// simGoroutine is one goroutine for a report. Package kernel declares the same.
type simGoroutine struct {
	id      uint64
	goid    uint64
	group   uint32
	stalled bool
	locks   int32
	reason  string
}

// simList fills list with the goroutines of the current run, in order of
// creation as far as it holds them, and returns how many there are.
func simList(list []simGoroutine) int {
	n := 0
	forEachG(func(gp *g) {
		if gp.bubble == nil || gp.bubble != sim.bubble || gp == sim.bubble.root || readgstatus(gp)&^_Gscan == _Gdead {
			return
		}
		if n < len(list) {
			list[n] = simGoroutine{gp.simID, gp.goid, gp.simGroup, gp.simStalled, gp.simLocks, gp.waitreason.String()}
		}
		n++
	})
	return n
}
