package overlay

// schedulerEdits make the order in which goroutines run a decision.
var schedulerEdits = []Edit{
	replace("runtime/proc.go", "func Gosched() {\n	checkTimeouts()\n", "func Gosched() {\n	checkTimeouts()\n	simBusy()\n",
		"what polls takes time"),

	after("runtime/runtime2.go", "	bubble  *synctestBubble\n", `
	simID      uint64 // order of creation within the simulation
	simGroup   uint32 // process group
	simLocks   int32  // mutexes held
	simStalled bool   // asleep at a synchronisation point
	simAside   int32  // depth of what is no part of the run

	simAsideRandom uint64 // random numbers of that
	simAsideID     uint64 // identities of the pointers that it hashes

	simScoped   bool   // the last synchronisation point was in scope
	simFresh    bool   // it was picked among all that could run, and has done nothing yet
	simShape    uint64 // of the last event, in a run that explores
	simPassed   uint64 // decisions at synchronisation points since that event
	simCode     uint64 // random numbers, in a run that explores
	simPriority uint64 // in a run that explores by a plan
`, "a goroutine knows its process, and a crash which goroutines hold locks"),

	after("runtime/proc.go", "func runqput(pp *p, gp *g, next bool) {\n", `	if simOwns(gp) {
		simPut(gp)
		return
	}
`, "a simulated goroutine goes to the simulator's queue"),

	after("runtime/proc.go", "func runqget(pp *p) (gp *g, inheritTime bool) {\n", `	if simReady() {
		return simPick(), true
	}
`, "the scheduling decision"),

	after("runtime/proc.go", "func runqempty(pp *p) bool {\n", `	if simReady() {
		return false
	}
`, "an idle P must see the simulator's queue"),

	replace("runtime/proc.go", `	dropg()
	if preempted && sched.gcwaiting.Load() {
`, `	dropg()
	if simOwns(gp) {
		if preempted {
			sim.sticky.set(gp)
		} else {
			simPut(gp)
		}
	} else if preempted && sched.gcwaiting.Load() {
`, "a yield goes back to the simulator's queue; a preemption by the runtime is no decision"),

	after("runtime/proc.go", "func globrunqput(gp *g) {\n", `	if simOwns(gp) {
		sim.c.foreign++
	}
`, "count what escapes the simulator"),

	after("runtime/proc.go", "func retake(now int64) uint32 {\n", `	if sim.on {
		return 0
	}
`, "no time-slice preemption, and no P taken away in a system call"),

	replace("runtime/proc.go", "		// Take the P. Note: because we have the scan bit, the goroutine\n", `		if sim.on {
			thread.resume()
			goto done
		}

		// Take the P. Note: because we have the scan bit, the goroutine
`, "the run may have begun while the system had sysmon's thread wait since it came in here"),

	after("runtime/proc.go", "func ready(gp *g, traceskip int, next bool) {\n", `	if simGone(gp) {
		return
	}
	simWake(gp)
`, "a goroutine of a crashed process never runs again, and whoever is woken has what its waker did before it"),

	after("runtime/proc.go", `		newg.bubble = callergp.bubble
		if mp.curg != nil {
			newg.labels = mp.curg.labels
		}
`, `		simBorn(newg, callergp)
`, "goroutines inherit their process"),

	replace("runtime/proc.go", "		procs = defaultGOMAXPROCS(numCPUStartup)\n",
		"		procs = 1\n		sched.customGOMAXPROCS = true\n",
		"process-wide: package initialisers run on one P unless GOMAXPROCS says otherwise"),

	replace("runtime/runtime2.go", "	return isIdleInSynctest[w]\n",
		"	return isIdleInSynctest[w] || sim.on && !isWaitingForSuspendG[w]\n",
		"every kind of wait counts as idle, mutexes and outside channels too"),

	after("runtime/chan.go", `func chansend(c *hchan, ep unsafe.Pointer, block bool, callerpc uintptr) bool {
`, `	simPoint()
	simSending(c)
`, "synchronisation point"),

	after("runtime/chan.go", `func chanrecv(c *hchan, ep unsafe.Pointer, block bool) (selected, received bool) {
`, `	simPoint()
	simReceiving(c)
`, "synchronisation point"),

	after("runtime/chan.go", "func closechan(c *hchan) {\n", `	simPoint()
	simTouch(unsafe.Pointer(c), simEventClose)
`, "synchronisation point"),

	after("runtime/chan.go", "	bubble   *synctestBubble\n", "	simOrder uintptr // order of creation among simulated channels\n", ""),

	replace("runtime/chan.go", "	if b := getg().bubble; b != nil {\n", `	if simActive() {
		simChannels++
		c.simOrder = simChannels
	} else if b := getg().bubble; b != nil {
`, "a channel of the run belongs to no bubble, as it may be looked at when the run is over"),

	after("runtime/select.go", "func (c *hchan) sortkey() uintptr {\n", `	if c.simOrder != 0 {
		return c.simOrder
	}
`, "select goes through channels in the order of their creation, not of their addresses"),

	replace("runtime/select.go", `	allSynctest := true
	for i := range scases {
		cas := &scases[i]
`, `	allSynctest := true
	simSelect, simFirst := simActive() && gp.simAside == 0, 0
	if simSelect {
		simPoint()
		simSelecting(scases, nsends)
		if sim.p.explore == simSteered {
			simFirst = simSelectFirst(gp, scases, nsends)
		} else if len(scases) > 1 {
			simFirst = int(simChoose(simKindSelect, uint32(len(scases))))
		}
	}
	for i := range scases {
		if simFirst > 0 {
			i = (i + simFirst) % len(scases)
		}
		cas := &scases[i]
`, "which case select looks at first is a decision"),

	replace("runtime/select.go", "		j := cheaprandn(uint32(norder + 1))\n", `		var j uint32
		if simActive() {
			j = uint32(norder)
		} else {
			j = cheaprandn(uint32(norder + 1))
		}
`, "which case select looks at first is a decision"),
}
