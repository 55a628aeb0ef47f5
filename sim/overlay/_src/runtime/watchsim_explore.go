// This file is added to package runtime by watchsim's toolchain overlay.
//
// A run that explores is for searches. If it is steered, nothing is left to chance in it: outside of
// a window of time every choice is the plainest one, and no decision. Within the
// window each synchronisation point in the code that is in scope is a decision
// (go on, let others go first, be held up), and so are which of the runnable
// goroutines in scope runs next and which ready case a select takes.

package runtime

import "unsafe"

const (
	simSteered  = 1 // a search takes the decisions
	simObserved = 2 // the decisions are those of any run; only the shape is wanted

	simScopeFrames = 12      // callers that tell whether a place is in scope
	simScopesMax   = 1 << 13 // places told apart; a power of two
)

// simChange is where a plan of priorities changes one. Package kernel declares the
// same struct.
type simChange struct {
	step     uint64 // which synchronisation point in scope, from 1
	priority uint64 // what the goroutine has from then on
	hold     uint64 // which of the lengths it is held up for, from 1; 0 for none
}

// simChosen is a decision as it is recorded. Package kernel declares the same struct.
type simChosen struct {
	kind                 simKind
	alternatives, chosen uint32
	alone                uint32 // at a point: nobody else was runnable, so that there was no yielding
	state                uint64 // where the run was: equal numbers mean the same future
}

var simExplored struct {
	open     bool // the window
	folding  bool // it has been open in this run
	shape    uint64
	state    uint64 // the shape, with the instants of the events, and what simTimed and simReadClock add
	held     uint64 // who is being held up, and until when
	planned  uint32 // what the plan says of the next decision
	yielder  guintptr
	steps    uint64
	changed  int // entries of the plan that have been used
	scopeKey uint64
	scopes   [simScopesMax]simScope
	known    int
	objects  [simObjectsMax]simObject
	touched  int
	others   uint64 // what objects have that there was no room for
}

type simScope struct {
	key uint64 // of the addresses of the callers
	in  bool
}

// simExploreBegin prepares a run. gp is to be the bubble's root.
func simExploreBegin(gp *g) {
	x := &simExplored
	x.open, x.folding = false, false
	x.shape, x.state, x.held, x.planned, x.steps, x.changed = 0, 0, 0, 0, 0, 0
	x.yielder = 0
	gp.simShape, gp.simCode = 1, sim.p.codeSeed
	if sim.p.explore == 0 {
		return
	}
	if x.touched > 0 {
		clear(x.objects[:])
		x.touched, x.others = 0, 0
	}
	key := uint64(len(sim.p.scope))
	for i := 0; i < len(sim.p.scope); i++ {
		key = simBlend(key, uint64(sim.p.scope[i]), 0)
	}
	if key != x.scopeKey {
		clear(x.scopes[:])
		x.scopeKey, x.known = key, 0
	}
}

// simExploreEnd closes a window that is still open.
func simExploreEnd() {
	simSetWindow(false)
	simExplored.folding = false
}

// simSetWindow opens or closes the window of a run that explores. The counters get
// the shape of the run up to when the window closes.
func simSetWindow(open bool) {
	x := &simExplored
	if sim.p.explore == 0 || open == x.open {
		return
	}
	x.open = open
	if open {
		x.folding = true
		return
	}
	sim.c.shape, sim.c.state, sim.c.steps = x.shape, simState(0), x.steps
}

// simState is where the run is: what has happened and when, who is held up, and who
// is runnable, in order.
func simState(running uint64) uint64 {
	x := &simExplored
	state := simBlend(x.state+x.held, uint64(sim.bubble.now-sim.begin), running)
	for i := 0; i < sim.n; i++ {
		state = simBlend(state, simPlace(sim.queue[i].ptr()), 0)
	}
	return state
}

// simDecide is a decision of a run that explores.
func simDecide(kind simKind, n, alone uint32, running uint64) uint32 {
	if kind != simKindPick && simPauseDue() {
		simAskPause()
	}
	if sim.p.choices == nil {
		return simChoose(kind, n)
	}
	state := simState(running)
	k := simChoose(kind, n)
	if sim.c.choices == sim.p.choicesCap {
		sim.c.choicesFull = 1
		return k
	}
	chosen := (*simChosen)(add(sim.p.choices, uintptr(sim.c.choices)*unsafe.Sizeof(simChosen{})))
	*chosen = simChosen{kind, n, k, alone, state}
	sim.c.choices++
	return k
}

// simStep is a synchronisation point of a run that explores.
func simStep(gp *g) {
	x := &simExplored
	gp.simScoped = false
	if !x.open {
		return
	}
	if sim.p.scope != "" {
		var callers [simScopeFrames]uintptr
		n := fpTracebackPCs(unsafe.Pointer(getfp()), callers[:])
		if !simInScope(callers[:n]) {
			return
		}
	}
	gp.simScoped = true
	gp.simPassed++
	x.steps++
	var others uint32
	if sim.n > 0 && !gp.simFresh {
		others = 1
	}
	gp.simFresh = false
	n := 1 + others + uint32(sim.p.holdsLen)
	if n == 1 {
		return
	}
	x.planned = simPlan(gp, others)
	switch k := simDecide(simKindPoint, n, 1-others, simPlace(gp)); {
	case k == 0:
	case k <= others:
		sim.c.yields++
		x.yielder.set(gp)
		mcall(gosched_m)
	default:
		sim.c.stalls++
		length := *(*int64)(add(sim.p.holds, uintptr(k-1-others)*8))
		mark := simBlend(simPlace(gp), uint64(sim.bubble.now+length), 0)
		x.held += mark
		simHold(gp, length)
		x.held -= mark
	}
}

// simPlan is what the plan of priorities wants at a synchronisation point: whoever
// has the highest priority runs, and it changes at given points.
func simPlan(gp *g, others uint32) uint32 {
	if sim.p.changes == nil {
		return 0
	}
	x := &simExplored
	if x.changed < sim.p.changesLen {
		change := (*simChange)(add(sim.p.changes, uintptr(x.changed)*unsafe.Sizeof(simChange{})))
		if change.step == x.steps {
			x.changed++
			gp.simPriority = change.priority
			if change.hold > 0 && change.hold <= uint64(sim.p.holdsLen) {
				return others + uint32(change.hold)
			}
		}
	}
	for i := 0; i < sim.n; i++ {
		if other := sim.queue[i].ptr(); other.simPriority > gp.simPriority && simRunnableInScope(other) {
			return 1
		}
	}
	return 0
}

// simExplorePick is the place in the queue of the goroutine that runs next. Those
// that are not in scope go in the order in which they became runnable. When it is
// the turn of one in scope, any other in scope may go first; but not the one that
// has just let others go first.
//
//go:nowritebarrierrec
func simExplorePick() int {
	x := &simExplored
	last := sim.n
	if x.yielder != 0 {
		if sim.queue[last-1] == x.yielder {
			last--
		}
		x.yielder = 0
	}
	if !x.open || last == 0 || !simRunnableInScope(sim.queue[0].ptr()) {
		return 0
	}
	n, highest := uint32(1), sim.queue[0].ptr().simPriority
	x.planned = 0
	all := true
	for i := 1; i < last; i++ {
		gp := sim.queue[i].ptr()
		if !simRunnableInScope(gp) {
			all = false
			continue
		}
		if sim.p.changes != nil && gp.simPriority > highest {
			highest, x.planned = gp.simPriority, n
		}
		n++
	}
	k := uint32(0)
	if n > 1 {
		k = simDecide(simKindPick, n, 0, 0)
	}
	for i := 0; ; i++ {
		if i > 0 && !simRunnableInScope(sim.queue[i].ptr()) {
			continue
		}
		if k == 0 {
			// To let others go first before it has done anything would be to pick one
			// of them, or to let the one go on that has just let it go first.
			sim.queue[i].ptr().simFresh = all
			return i
		}
		k--
	}
}

// simSelectFirst is the case that a select of a run that explores looks at first:
// one of those that are ready.
func simSelectFirst(gp *g, cases []scase, sends int) int {
	if !simExplored.open || !gp.simScoped {
		return 0
	}
	n := uint32(0)
	for i := range cases {
		if c := cases[i].c; c != nil && simChannelReady(c, i < sends) {
			n++
		}
	}
	if n < 2 {
		return 0
	}
	simExplored.planned = 0
	k := simDecide(simKindSelect, n, 0, simPlace(gp))
	for i := range cases {
		if c := cases[i].c; c != nil && simChannelReady(c, i < sends) {
			if k == 0 {
				return i
			}
			k--
		}
	}
	return 0
}

// simChannelReady reports whether an operation on a channel would not wait.
func simChannelReady(c *hchan, send bool) bool {
	switch {
	case c.closed != 0:
		return true
	case send:
		return c.recvq.first != nil || c.qcount < c.dataqsiz
	default:
		return c.sendq.first != nil || c.qcount > 0
	}
}

// simRunnableInScope reports whether a goroutine that does not run waits in code
// that is in scope, or begins there.
func simRunnableInScope(gp *g) bool {
	if gp == sim.bubble.root {
		return false
	}
	if sim.p.scope == "" {
		return true
	}
	if gp.sched.bp == 0 {
		f := findfunc(gp.startpc)
		return f.valid() && simHasPrefix(funcname(f), sim.p.scope)
	}
	var callers [simScopeFrames]uintptr
	n := fpTracebackPCs(unsafe.Pointer(gp.sched.bp), callers[:])
	return simInScope(callers[:n])
}

// simInScope reports whether the first caller outside of the packages that wait is
// in scope.
func simInScope(callers []uintptr) bool {
	x := &simExplored
	key := uint64(len(callers)) + 1
	for _, pc := range callers {
		key = simBlend(key, uint64(pc), 0)
	}
	for slot := key; ; slot++ {
		scope := &x.scopes[slot%simScopesMax]
		if scope.key == key {
			return scope.in
		}
		if scope.key == 0 {
			if x.known == simScopesMax/4*3 {
				return simCalledInScope(callers) // the table only saves time
			}
			x.known++
			scope.key, scope.in = key, simCalledInScope(callers)
			return scope.in
		}
	}
}

func simCalledInScope(callers []uintptr) bool {
	for _, pc := range callers {
		f := findfunc(pc - 1)
		if !f.valid() {
			continue
		}
		u, uf := newInlineUnwinder(f, pc-1)
		for ; uf.valid(); uf = u.next(uf) {
			sf := u.srcFunc(uf)
			name := sf.name()
			if simSynchronises(name) || simHasPrefix(name, "time.") || simHasPrefix(name, "context.") {
				continue
			}
			return simHasPrefix(name, sim.p.scope)
		}
	}
	return false
}

func simHasPrefix(name, prefix string) bool {
	return len(name) >= len(prefix) && name[:len(prefix)] == prefix
}

// simSleeper tells goroutines apart whose sleeps end at one instant.
func simSleeper() uint32 {
	gp := getg()
	if sim.p.explore == simSteered {
		return uint32(gp.simCode)
	}
	return uint32(gp.simID)
}
