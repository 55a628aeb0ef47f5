// This file is added to package runtime by watchsim's toolchain overlay.
//
// A run that explores, steered or only observed, knows its shape: what happened before
// what. Every operation on a channel or lock is an event, whose hash is made from that of the goroutine's
// event before it, that of the last event on the same object, and what it was; a
// goroutine that is woken takes in the hash of the one that woke it. The sum of the
// events' hashes is the shape. It is the same for two schedules that differ only in
// the order of what does not depend on each other. Atomic operations and accesses
// of memory are not seen. (Musuvathi and Qadeer, "Partial-Order Reduction for
// Context-Bounded State Exploration", hash happens-before graphs like this.)

package runtime

import "unsafe"

const (
	simObjectsMax = 1 << 18 // channels and locks in one run; a power of two

	simEventLock    = 1 // kinds of event
	simEventUnlock  = 2
	simEventRead    = 3
	simEventSend    = 4
	simEventReceive = 5
	simEventClose   = 6
	simEventSelect  = 7
	simEventWake    = 8
	simEventBirth   = 9
	simEventTimer   = 10
	simEventClock   = 11
)

type simObject struct {
	at    uintptr
	shape uint64 // of the last event on it
}

//go:nosplit
func simBlend(a, b, c uint64) uint64 {
	h := (a ^ 0x2545f4914f6cdd1d) * 0x9fb21c651e98df25
	h = (h ^ h>>29 ^ b) * 0x9fb21c651e98df25
	h = (h ^ h>>29 ^ c) * 0x9fb21c651e98df25
	return h ^ h>>32
}

// simPlace is how far a goroutine has come: its last event, and how many points it has
// been at since. After an unlock comes a point, and before the next lock another,
// between which there is no event but maybe an atomic operation.
func simPlace(gp *g) uint64 { return simBlend(gp.simShape, gp.simPassed, 0) }

// simTouch is an event on an object that changes it, for whoever comes next.
func simTouch(object unsafe.Pointer, what uint64) {
	if simExplored.folding {
		simEvent(object, what, true)
	}
}

// simLook is an event that leaves the object as it was.
func simLook(object unsafe.Pointer, what uint64) {
	if simExplored.folding {
		simEvent(object, what, false)
	}
}

// simEvent notes an event of the calling goroutine, or of a timer.
func simEvent(object unsafe.Pointer, what uint64, changes bool) {
	gp := getg()
	if !sim.on || object == nil || gp.simAside > 0 {
		return
	}
	timer := gp == gp.m.g0
	if !timer && gp.bubble != sim.bubble {
		return
	}
	if at := uintptr(object); at >= gp.stack.lo && at < gp.stack.hi {
		// Nobody else knows what lies on a stack, and where a stack lies is chance.
		return
	}
	last := simObjectAt(uintptr(object))
	before := uint64(0)
	if !timer {
		before = gp.simShape
	}
	h := simBlend(before, *last, what)
	if !timer {
		gp.simShape, gp.simPassed, gp.simFresh = h, 0, false
	}
	if changes {
		*last = h
	}
	simExplored.shape += h
	simExplored.state += simBlend(h, uint64(sim.bubble.now-sim.begin), 0)
}

// simTimed adds to the state of a run that the calling goroutine sets a timer, or stops
// one if when is 0. It may have been held up since its last event, so that the instant
// of that one does not tell when the timer fires. Being held up is a timer, too, and
// leaves no mark when it is over.
func simTimed(when int64) {
	gp := getg()
	if !simExplored.folding || !simOwns(gp) || gp.simAside > 0 || gp.simStalled {
		return
	}
	simExplored.state += simBlend(gp.simShape, uint64(when), simEventTimer)
}

// simReadClock adds to the state of a run that the calling goroutine knows what time it
// is, which it may keep.
func simReadClock() {
	gp := getg()
	if !simExplored.folding || !simOwns(gp) || gp.simAside > 0 {
		return
	}
	simExplored.state += simBlend(gp.simShape, uint64(sim.bubble.now-sim.begin), simEventClock)
}

// simObjectAt is where the last event on an object is kept.
func simObjectAt(at uintptr) *uint64 {
	x := &simExplored
	// Neighbours in the heap are neighbours here, so that a copy of the process that
	// writes to some of them has few pages of the table of its own.
	for slot := at >> 5; ; slot++ {
		object := &x.objects[slot%simObjectsMax]
		if object.at == at {
			return &object.shape
		}
		if object.at == 0 {
			if x.touched == simObjectsMax/4*3 {
				// From here on all new objects are taken for one: more schedules look
				// different than are, and none that differ look alike.
				return &x.others
			}
			x.touched++
			object.at = at
			return &object.shape
		}
	}
}

// simReceiving is the event of a receive. One that has to wait takes in what its sender
// knows when it is woken. It changes nothing for others, but comes after those that wait
// already: whoever has waited longest is woken first.
func simReceiving(c *hchan) {
	if !simExplored.folding || c == nil {
		return
	}
	if simChannelReady(c, false) {
		simEvent(unsafe.Pointer(c), simEventReceive, true)
	} else {
		simEvent(unsafe.Pointer(c), simEventReceive|1<<8|simWaiting(c)<<9, false)
	}
}

// simWaiting is the shape of whoever came last to wait for what a channel brings, 0 if
// nobody waits.
func simWaiting(c *hchan) uint64 {
	if c.recvq.last == nil {
		return 0
	}
	return c.recvq.last.g.simShape
}

// simSelecting is the event of a select: it looks at which cases are ready, and
// then takes one of these, or is there for a receiver to find.
func simSelecting(cases []scase, sends int) {
	if !simExplored.folding {
		return
	}
	var last *hchan
	ready := uint64(0)
	for i := range cases {
		if c := cases[i].c; c != nil {
			last = c
			if simChannelReady(c, i < sends) {
				ready = simBlend(ready, uint64(i), 0)
			}
		}
	}
	simEvent(unsafe.Pointer(last), simEventSelect|ready<<8, false)
	for i := range cases {
		if c := cases[i].c; c != nil && (i < sends || simChannelReady(c, false)) {
			simEvent(unsafe.Pointer(c), simEventSelect, true)
		} else if c != nil && c.recvq.last != nil {
			simEvent(unsafe.Pointer(c), simEventSelect|1<<8|simWaiting(c)<<9, false)
		}
	}
}

// simSending is the event of a send, which may have to wait.
func simSending(c *hchan) {
	if !simExplored.folding || c == nil {
		return
	}
	what := uint64(simEventSend)
	if !simChannelReady(c, true) {
		what |= 1 << 8
	}
	simEvent(unsafe.Pointer(c), what, true)
}

// simWake has a goroutine that is made runnable take in what the one that does so
// has seen.
func simWake(gp *g) {
	if !simExplored.folding || !simOwns(gp) || gp.simStalled || gp == sim.bubble.root {
		return
	}
	if by := getg().m.curg; by != nil && by.bubble == sim.bubble && by != sim.bubble.root {
		by.simFresh = false
		gp.simShape = simBlend(gp.simShape, by.simShape, simEventWake)
		return
	}
	gp.simShape = simBlend(gp.simShape, 0, simEventTimer)
}

// simExploreKnown gives a goroutine that was there before the run began to explore
// what simExploreBorn gives a new one.
func simExploreKnown(gp *g) {
	gp.simScoped, gp.simFresh, gp.simPassed = false, false, 0
	gp.simShape = simBlend(gp.simID, 0, simEventBirth)
	gp.simCode = simBlend(sim.p.codeSeed, gp.simShape, 0)
	gp.simPriority = simBlend(sim.p.schedSeed, gp.simID, 0) | 1<<63
}

// simExploreBorn gives a new goroutine a shape, random numbers and a priority that
// do not depend on what else runs.
func simExploreBorn(newg, parent *g) {
	newg.simScoped, newg.simFresh, parent.simFresh = false, false, false
	newg.simPassed = 0
	switch {
	case !simExplored.folding:
		newg.simShape = simBlend(newg.simID, 0, simEventBirth)
	case parent.bubble == sim.bubble && parent != parent.m.g0:
		newg.simShape = simBlend(parent.simShape, 1, simEventBirth)
		parent.simShape = simBlend(parent.simShape, 2, simEventBirth)
	default:
		// A timer has started it. Its function has the same name in every binary, but not the same address.
		newg.simShape = simBlend(uint64(sim.bubble.now-sim.begin), simSiteHash(0, funcname(findfunc(newg.startpc))), simEventBirth)
	}
	newg.simCode = simBlend(sim.p.codeSeed, newg.simShape, 0)
	newg.simPriority = simBlend(sim.p.schedSeed, newg.simID, 0) | 1<<63
}
