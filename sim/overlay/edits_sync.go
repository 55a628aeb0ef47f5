package overlay

// syncEdits make locks synchronisation points, and pools stacks.
var syncEdits = []Edit{
	after("internal/sync/mutex.go", "func (m *Mutex) Lock() {\n", `	simLocked(unsafe.Pointer(m), false)
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
	simLocked(unsafe.Pointer(m), false)
`, "synchronisation point"),

	replace("internal/sync/mutex.go", `	if new != 0 {
		// Outlined slow path to allow inlining the fast path.
		// To hide unlockSlow during tracing we skip one extra frame when tracing GoUnblock.
		m.unlockSlow(new)
	}
`, `	if new != 0 {
		m.unlockSlow(new)
	}
	simUnlocked(unsafe.Pointer(m), false)
`, "synchronisation point"),

	replace("internal/sync/hashtriemap.go", "	ht.seed = uintptr(runtime_rand())\n",
		"	ht.seed = simTrieSeed(mapType.Key)\n",
		"a map's seed says that it hashes pointers by identity, and is the same in every process"),

	replace("runtime/sema.go", `func internal_sync_nanotime() int64 {
	return nanotime()
`, `func internal_sync_nanotime() int64 {
	if simActive() {
		return sim.bubble.now
	}
	return nanotime()
`, "whether a mutex starves is decided on the simulated clock"),

	after("sync/rwmutex.go", "func (rw *RWMutex) RLock() {\n", "	simLocked(unsafe.Pointer(&rw.w), true)\n", "synchronisation point"),
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
	simUnlocked(unsafe.Pointer(&rw.w), true)
`, "synchronisation point"),

	after("sync/runtime.go", `func throw(string)
`, `
//go:noescape
//go:linkname simLocked runtime.simLocked
func simLocked(lock unsafe.Pointer, shared bool)

//go:noescape
//go:linkname simUnlocked runtime.simUnlocked
func simUnlocked(lock unsafe.Pointer, shared bool)

//go:linkname simActive runtime.simActive
func simActive() bool

// simPoolMax is how many objects a pool keeps while simulating.
const simPoolMax = 1024
`, ""),

	after("sync/pool.go", `	// New optionally specifies a function to generate
	// a value when Get would otherwise return nil.
	// It may not be changed concurrently with calls to Get.
	New func() any
`, `
	simFree []any
`, "a pool's content depends on the collector; while simulating it is a stack"),

	after("sync/pool.go", "func (p *Pool) Put(x any) {\n", `	if simActive() {
		if x != nil && len(p.simFree) < simPoolMax {
			if race.Enabled {
				race.ReleaseMerge(poolRaceAddr(x))
			}
			p.simFree = append(p.simFree, x)
		}
		return
	}
`, "a pool is a stack"),

	after("sync/pool.go", "func (p *Pool) Get() any {\n", `	if simActive() {
		if n := len(p.simFree); n > 0 {
			x := p.simFree[n-1]
			p.simFree[n-1] = nil
			p.simFree = p.simFree[:n-1]
			if race.Enabled {
				race.Acquire(poolRaceAddr(x))
			}
			return x
		}
		if p.New != nil {
			return p.New()
		}
		return nil
	}
`, "a pool is a stack"),
}
