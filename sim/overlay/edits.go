package overlay

// An edit replaces one piece of one of Go's own files. The anchor must occur
// exactly once, so that a Go release that changed the place stops the build
// instead of being patched wrongly, or not at all.
type edit struct {
	file        string // below GOROOT/src
	anchor      string
	replacement string
	why         string
}

// replace is an edit that puts text in the place of the anchor.
func replace(file, anchor, text, why string) edit {
	return edit{file, anchor, text, why}
}

// after is an edit that keeps the anchor and adds text behind it.
func after(file, anchor, text, why string) edit {
	return edit{file, anchor, anchor + text, why}
}

// goEdits is everything the simulation needs of the Go toolchain. Each edit is
// guarded: it acts only on the goroutines of a running simulation, but for the
// few that are marked as process-wide.
var goEdits = concat(schedulerEdits, bubbleEdits, timerEdits, randomEdits, mapEdits, syncEdits, memoryEdits, outsideEdits)

func concat(groups ...[]edit) []edit {
	var all []edit
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

var schedulerEdits = []edit{
	after("runtime/runtime2.go", "	bubble  *synctestBubble\n", `
	simID      uint64 // order of creation within the simulation
	simGroup   uint32 // process group
	simLocks   int32  // mutexes held
	simStalled bool   // asleep at a synchronisation point
	simAside   int32  // depth of what happens once in a process
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

	after("runtime/proc.go", "func ready(gp *g, traceskip int, next bool) {\n", `	if simGone(gp) {
		return
	}
`, "a goroutine of a crashed process never runs again"),

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
`, "synchronisation point"),

	after("runtime/chan.go", `func chanrecv(c *hchan, ep unsafe.Pointer, block bool) (selected, received bool) {
`, `	simPoint()
`, "synchronisation point"),

	after("runtime/chan.go", "func closechan(c *hchan) {\n", `	simPoint()
`, "synchronisation point"),

	after("runtime/chan.go", "	bubble   *synctestBubble\n", "	simOrder uintptr // order of creation among simulated channels\n", ""),

	replace("runtime/chan.go", "	if b := getg().bubble; b != nil {\n", `	if simActive() {
		simChannels++
		c.simOrder = simChannels
	} else if b := getg().bubble; b != nil {
`, "a channel that one run made lazily may serve the next"),

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
		if len(scases) > 1 {
			simFirst = int(simChoose(uint32(len(scases))))
		}
	}
	for i := range scases {
		if simFirst > 0 {
			i = (i + simFirst) % len(scases)
		}
		cas := &scases[i]
`, "which case select looks at first is a decision"),

	replace("runtime/select.go", "		j := cheaprandn(uint32(norder + 1))\n", `		var j uint32
		if simSelect {
			j = uint32(norder)
		} else {
			j = cheaprandn(uint32(norder + 1))
		}
`, "which case select looks at first is a decision"),
}

var bubbleEdits = []edit{
	replace("runtime/synctest.go", `	lock(&bubble.mu)
	bubble.total += totalDelta
`, `	if bubble.sim {
		// There is one P, and nothing preempts what runs on it.
		bubble.total += totalDelta
		if wasRunning != isRunning {
			if isRunning {
				bubble.running++
			} else {
				bubble.running--
				if raceenabled && newval != _Gdead && newval != _Gdeadextra {
					racereleasemergeg(gp, bubble.raceaddr())
				}
			}
		}
		if wake := bubble.maybeWakeLocked(); wake != nil {
			goready(wake, 0)
		}
		return
	}
	lock(&bubble.mu)
	bubble.total += totalDelta
`, "the bubble of a simulation needs no lock"),

	after("runtime/synctest.go", "	done    bool   // true if main has exited\n",
		"	sim     bool   // this bubble is a simulation\n", ""),

	after("runtime/synctest.go", "	lockInit(&bubble.timers.mu, lockRankTimers)\n", `	simBegin(bubble)
`, "a simulation is a bubble with a flag"),

	after("runtime/synctest.go", `	lock(&bubble.mu)
	bubble.active++
	for {
		unlock(&bubble.mu)
`, `		if bubble.sim {
			simCollect(gp)
		}
`, "garbage is collected while every goroutine waits"),

	replace("runtime/synctest.go", `		next := bubble.timers.wakeTime()
		if next == 0 {
			break
		}
`, `		next := bubble.timers.wakeTime()
		if bubble.sim && simIdle(bubble, next) {
			break
		}
		if next == 0 {
			break
		}
`, "budgets, deadlock, and the end of a run"),

	replace("runtime/synctest.go", "	if total != 1 {\n", "	if total != 1 && !bubble.sim {\n",
		"leftover goroutines are reported by the harness, not by a panic"),

	replace("runtime/synctest.go", `func synctest_isInBubble() bool {
	return getg().bubble != nil
`, `func synctest_isInBubble() bool {
	b := getg().bubble
	return b != nil && !b.sim
`, "a WaitGroup that one run made lazily may serve the next"),
}

var timerEdits = []edit{
	after("runtime/time.go", "	rand    uint32 // randomizes order of timers at same instant; only set when isFake\n",
		"	simGroup uint32 // the process that made it\n	simRand  uint32 // what rand follows from while simulating\n", ""),

	replace("runtime/time.go", "			t.rand = cheaprand()\n", `			t.rand = cheaprand()
			if sim.on {
				// A function of the timer and its time alone: select blocks on
				// timers in the order of their addresses, and whether a timer is
				// added anew depends on the shape of the heap.
				base := t.simRand
				if base == 0 {
					base = uint32(getg().simID) // a sleep
				}
				t.rand = (base ^ uint32(t.when) ^ uint32(t.when>>32)) * 0x9e3779b1
				t.rand ^= t.rand >> 15
			}
`, "timers of one instant fire in an order the seed decides"),

	replace("runtime/time.go", `	if bubble := getg().bubble; bubble != nil {
		t.isFake = true
	}
	t.modify(`, `	if bubble := getg().bubble; bubble != nil {
		t.isFake = true
		t.simGroup = getg().simGroup
		t.simRand = uint32(simRandom())
		if c != nil {
			c.bubble = bubble
		}
	}
	t.modify(`, "a timer knows its process"),

	replace("runtime/time.go", "	f(arg, seq, delay)\n", `	if bubble != nil && bubble.sim {
		if sim.dead[t.simGroup] {
			f = func(any, uintptr, int64) {}
		}
		getg().simGroup = t.simGroup
	}
	f(arg, seq, delay)
`, "the timers of a crashed process never fire; AfterFunc's goroutine belongs to the process that made it"),
}

var randomEdits = []edit{
	replace("runtime/rand.go", "	globalRand.state.Init(*seed)\n", `	for i := range seed {
		seed[i] = byte(i)
	}
	globalRand.state.Init(*seed)
`, "process-wide: the same start-up state in every process"),

	replace("runtime/rand.go", `	// Note: We avoid acquirem here so that in the fast path
`, `	if simOutside != 0 {
		return simRandom()
	}
	// Note: We avoid acquirem here so that in the fast path
`, "process-wide: random numbers follow the seed inside a simulation, a constant outside"),

	replace("runtime/rand.go", `func maps_rand() uint64 {
	return rand()
`, `func maps_rand() uint64 {
	if !simActive() {
		return 0x5851f42d4c957f2d
	}
	return rand()
`, "process-wide: maps made before a run iterate alike in every process"),

	after("crypto/internal/sysrand/rand.go", "func Read(b []byte) {\n", `	if simFill(b) {
		return
	}
`, "crypto/rand follows the seed, raft's election timeouts with it"),

	after("crypto/internal/sysrand/rand.go", `//go:linkname fatal
func fatal(string)
`, `
//go:linkname simFill runtime.simFill
func simFill(b []byte) bool
`, ""),
}

var syncEdits = []edit{
	after("internal/sync/mutex.go", "func (m *Mutex) Lock() {\n", `	simLocked()
`, "synchronisation point"),

	replace("internal/sync/mutex.go", `	// There may be a goroutine waiting for the mutex, but we are
	// running now and can try to grab the mutex before that
	// goroutine wakes up.
	if !atomic.CompareAndSwapInt32(&m.state, old, old|mutexLocked) {
		return false
	}
`, `	if !atomic.CompareAndSwapInt32(&m.state, old, old|mutexLocked) {
		return false
	}
	simLocked()
`, "synchronisation point"),

	replace("internal/sync/mutex.go", `	if new != 0 {
		// Outlined slow path to allow inlining the fast path.
		// To hide unlockSlow during tracing we skip one extra frame when tracing GoUnblock.
		m.unlockSlow(new)
	}
`, `	if new != 0 {
		m.unlockSlow(new)
	}
	simUnlocked()
`, "synchronisation point"),

	replace("internal/sync/hashtriemap.go", "	mu       Mutex // Protects mutation to children and any children that are entry nodes.\n",
		"	mu       simMutex // Protects mutation to children and any children that are entry nodes.\n",
		"a sync.Map grows in whichever run comes first, and no run may show it"),

	after("internal/sync/hashtriemap.go", "func (ht *HashTrieMap[K, V]) initSlow() {\n", `	simAside()
	defer simBack()
`, "a sync.Map is initialised by whichever run comes first, and no run may show it"),

	replace("internal/sync/hashtriemap.go", "	ht.seed = uintptr(runtime_rand())\n",
		"	ht.seed = simMapSeed(mapType.Key, uintptr(runtime_rand()))\n",
		"a map's seed says that it hashes pointers by identity"),

	replace("runtime/sema.go", `func internal_sync_nanotime() int64 {
	return nanotime()
`, `func internal_sync_nanotime() int64 {
	if simActive() {
		return sim.bubble.now
	}
	return nanotime()
`, "whether a mutex starves is decided on the simulated clock"),

	after("sync/rwmutex.go", "func (rw *RWMutex) RLock() {\n", "	simLocked()\n", "synchronisation point"),
	replace("sync/rwmutex.go", `		rw.rUnlockSlow(r)
	}
	if race.Enabled {
		race.Enable()
	}
`, `		rw.rUnlockSlow(r)
	}
	if race.Enabled {
		race.Enable()
	}
	simUnlocked()
`, "synchronisation point"),

	after("sync/runtime.go", `func throw(string)
`, `
//go:linkname simLocked runtime.simLocked
func simLocked()

//go:linkname simUnlocked runtime.simUnlocked
func simUnlocked()

//go:linkname simActive runtime.simActive
func simActive() bool

//go:linkname simRunNumber runtime.simRunNumber
func simRunNumber() uint64

// simPoolMax is how many objects a pool keeps while simulating.
const simPoolMax = 1024
`, ""),

	after("sync/once.go", "func (o *Once) doSlow(f func()) {\n", `	simAside()
	defer simBack()
`, "a global is initialised by whichever run comes first, and no run may show it"),

	after("sync/runtime.go", `func fatal(string)
`, `
//go:linkname simAside runtime.simAside
func simAside()

//go:linkname simBack runtime.simBack
func simBack()
`, ""),

	after("sync/pool.go", `	// New optionally specifies a function to generate
	// a value when Get would otherwise return nil.
	// It may not be changed concurrently with calls to Get.
	New func() any
`, `
	simRun  uint64 // the run that simFree is of
	simFree []any
`, "a pool's content depends on the collector and on earlier runs; while simulating it is a stack of this run's own"),

	after("sync/pool.go", "func (p *Pool) Put(x any) {\n", `	if simActive() {
		if run := simRunNumber(); p.simRun != run {
			p.simRun, p.simFree = run, nil
		}
		if x != nil && len(p.simFree) < simPoolMax {
			p.simFree = append(p.simFree, x)
		}
		return
	}
`, "a pool is a stack of this run's own"),

	after("sync/pool.go", "func (p *Pool) Get() any {\n", `	if simActive() {
		if n := len(p.simFree); n > 0 && p.simRun == simRunNumber() {
			x := p.simFree[n-1]
			p.simFree[n-1] = nil
			p.simFree = p.simFree[:n-1]
			return x
		}
		if p.New != nil {
			return p.New()
		}
		return nil
	}
`, "a pool is a stack of this run's own"),
}

// outsideEdits replace what a simulated goroutine would reach outside the
// process.
var outsideEdits = []edit{
	after("net/dial.go", "func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (Listener, error) {\n", `	if simListen != nil && simActive() {
		return simListen(ctx, network, address)
	}
`, "listeners of simulated goroutines are in the simulated network"),

	after("net/dial.go", "func (d *Dialer) DialContext(ctx context.Context, network, address string) (Conn, error) {\n", `	if simDial != nil && simActive() {
		ctx, cancel := d.dialCtx(ctx)
		defer cancel()
		return simDial(ctx, network, address)
	}
`, "dials of simulated goroutines are in the simulated network"),
}

// memoryEdits let workers use their memory again instead of asking for more.
var memoryEdits = []edit{
	replace("runtime/stack.go", "var startingStackSize uint32 = fixedStack\n", "var startingStackSize uint32 = 16 << 10\n",
		"process-wide: the stacks of servers outgrow 2 KiB at once, and each growth is a copy"),

	replace("runtime/proc.go", "		newg = malg(stackMin)\n		casgstatus(newg, _Gidle, _Gdead)\n		allgadd(newg)", "		newg = malg(int32(startingStackSize))\n		casgstatus(newg, _Gidle, _Gdead)\n		allgadd(newg)",
		"process-wide: the first stack of a goroutine, too"),

	replace("runtime/proc.go", "	if stksize != uintptr(startingStackSize) {\n", "	if stksize < uintptr(startingStackSize) || stksize > 64<<10 {\n",
		"process-wide: a stack that has grown serves the next goroutine"),

	replace("runtime/proc.go", "	if gp.stack.lo != 0 && gp.stack.hi-gp.stack.lo != uintptr(startingStackSize) {\n",
		"	if gp.stack.lo != 0 && gp.stack.hi-gp.stack.lo < uintptr(startingStackSize) {\n",
		"process-wide: a stack that has grown serves the next goroutine"),

	replace("runtime/mem_linux.go", "	// Disable huge pages if the GODEBUG for it is set.\n	//\n	// Note that", `	if simOutside != 0 {
		sysHugePageOS(v, n)
	}

	// Disable huge pages if the GODEBUG for it is set.
	//
	// Note that`, "process-wide: huge pages, as a run touches much memory for the first time"),

	after("runtime/mgcscavenge.go", "func gcPaceScavenger(memoryLimit int64, heapGoal, lastHeapGoal uint64) {\n", `	if simOutside != 0 {
		scavenge.memoryLimitGoal.Store(^uint64(0))
		scavenge.gcPercentGoal.Store(^uint64(0))
		return
	}
`, "process-wide: what the collector frees is soon used again"),
}

// mapEdits make maps keyed by pointers iterate in an order the seed decides.
// Such a map is hashed by address, and addresses depend on what the process
// allocated before; while it is simulated, a pointer is hashed by its identity
// instead: when and by whom it was first hashed in this run. Which maps do is
// written into their seed.
var mapEdits = []edit{
	after("runtime/alg.go", "func alginit() {\n", `	if simOutside != 0 {
		for i := range hashkey {
			hashkey[i] = uintptr(simMix(&simOutside))
		}
		return
	}
`, "process-wide: hashing in Go, so that pointers can be told apart, and alike on every architecture"),

	replace("runtime/hash64.go", `	a := r8(p)
	return mix(m5^8, mix(a^hashkey[1], a^seed^hashkey[0]))
`, `	a := r8(p)
	if seed>>48 == simSeedTag {
		a, seed = simIdentity(a, seed), simPlainSeed(seed)
	} else if (seed^c0)>>48 == simSeedTag { // by way of an interface
		a, seed = simIdentity(a, seed^c0), simPlainSeed(seed)
	}
	return mix(m5^8, mix(a^hashkey[1], a^seed^hashkey[0]))
`, "pointers are hashed by identity"),

	after("runtime/hash64.go", "func memhash32Fallback(p unsafe.Pointer, seed uintptr) uintptr {\n", `	seed = simPlainSeed(seed)
`, "other keys of a map of interfaces are hashed alike in every run"),

	after("runtime/hash64.go", "func memhashFallback(p unsafe.Pointer, seed, s uintptr) uintptr {\n", `	seed = simPlainSeed(seed)
`, "other keys of a map of interfaces are hashed alike in every run"),

	replace("internal/runtime/maps/map.go", `	m.seed = uintptr(rand())

	if hint <= abi.MapGroupSlots {
		// A small map can fill all 8 slots, so no need to increase
`, `	m.seed = simMapSeed(mt.Key, uintptr(rand()))

	if hint <= abi.MapGroupSlots {
		// A small map can fill all 8 slots, so no need to increase
`, "a map's seed says that it hashes pointers by identity"),

	after("internal/runtime/maps/map.go", "func (m *Map) growToTable(typ *abi.MapType) {\n", `	m.seed = simMapSeed(typ.Key, m.seed)
`, "a map's seed says that it hashes pointers by identity"),

	after("internal/runtime/maps/map.go", `		// TODO(prattmic): If this is an update to an existing key then
		// we actually don't need to grow.
		m.growToTable(typ)
`, `		hash = typ.Hasher(key, m.seed)
`, "the seed has changed"),

	replace("internal/runtime/maps/map.go", `		// https://go.dev/issue/25237.
		m.seed = uintptr(rand())
`, `		// https://go.dev/issue/25237.
		m.seed = simMapSeed(typ.Key, uintptr(rand()))
`, "a map's seed says that it hashes pointers by identity"),

	replace("internal/runtime/maps/map.go", `	// repeatedly trigger hash collisions. See https://go.dev/issue/25237.
	m.seed = uintptr(rand())
`, `	// repeatedly trigger hash collisions. See https://go.dev/issue/25237.
	m.seed = simMapSeed(typ.Key, uintptr(rand()))
`, "a map's seed says that it hashes pointers by identity"),

	after("internal/runtime/maps/runtime.go", `		// Can't fit another entry, grow to full size map.
		m.growToTable(typ)
`, `		hash = typ.Hasher(key, m.seed)
`, "the seed has changed"),

	after("internal/runtime/maps/runtime_fast64.go", `			elem := m.putSlotSmallFastPtr(typ, hash, key)

			if m.writing == 0 {
				fatal("concurrent map writes")
			}
			m.writing ^= 1

			return elem
		}

		// Can't fit another entry, grow to full size map.
		m.growToTable(typ)
`, `		hash = typ.Hasher(abi.NoEscape(unsafe.Pointer(&key)), m.seed)
`, "the seed has changed"),

	after("internal/runtime/maps/runtime.go", `//go:linkname rand
func rand() uint64
`, `
//go:linkname simMapSeed runtime.simMapSeed
func simMapSeed(key *abi.Type, seed uintptr) uintptr
`, ""),
}
