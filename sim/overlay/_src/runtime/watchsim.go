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

import "unsafe"

const (
	simQueueMax = 1 << 16 // runnable goroutines at one time
	simGroupMax = 1 << 12 // process groups in one run

	// A goroutine that goes round in circles until another has done something
	// takes no simulated time. If that other one is asleep it would never wake
	// up. So many synchronisation points at one instant therefore take a while, and so
	// many readings of the clock and calls of Gosched.
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
	spins      uint64 // times that something happened simSpinPoints times at one instant

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
	instant   int64 // when something was counted that takes no time
	passed    int   // synchronisation points passed at that instant
	busy      int   // readings of the clock and calls of Gosched at that instant
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

// simChannels counts the channels that simulated goroutines have made in this
// process. Only the order matters, and that is the same in every process.
var simChannels uintptr

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

// simActive reports whether the calling goroutine is simulated.
//
//go:linkname simActive
//go:nosplit
func simActive() bool {
	gp := getg()
	return sim.on && gp.bubble != nil && gp.bubble == sim.bubble
}

// simNow is what package time takes for now.
//
//go:linkname simNow
func simNow() (sec int64, nsec int32, mono int64) { return time_runtimeNow() }

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

// simGoroutine is one goroutine for a report. Package kernel declares the same.
type simGoroutine struct {
	id      uint64
	goid    uint64
	group   uint32
	stalled bool
	locks   int32
	reason  string
}
