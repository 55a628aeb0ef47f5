package overlay

// bubbleEdits turn a bubble of testing/synctest into a simulation.
var bubbleEdits = []Edit{
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

	replace("runtime/synctest.go", `		gopark(synctestidle_c, nil, waitReasonSynctestRun, traceBlockSynctest, 0)
		lock(&bubble.mu)
`, `		gopark(synctestidle_c, nil, waitReasonSynctestRun, traceBlockSynctest, 0)
		for bubble.sim && simPaused(gp) {
			gopark(synctestidle_c, nil, waitReasonSynctestRun, traceBlockSynctest, 0)
		}
		lock(&bubble.mu)
`, "a run pauses, and goes on where it was"),

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
`, "a WaitGroup of a package may serve goroutines inside and outside of the run"),
}

// timerEdits let timers know their process, and order those of one instant.
var timerEdits = []Edit{
	after("runtime/time.go", "	rand    uint32 // randomizes order of timers at same instant; only set when isFake\n",
		"	simGroup uint32 // the process that made it\n	simRand  uint32 // what rand follows from while simulating\n", ""),

	replace("runtime/time.go", "			t.rand = cheaprand()\n", `			t.rand = cheaprand()
			if sim.on {
				// A function of the timer and its time alone: select blocks on
				// timers in the order of their addresses, and whether a timer is
				// added again depends on the shape of the heap.
				base := t.simRand
				if base == 0 {
					base = simSleeper() // a sleep
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

	replace("time/tick.go", `	if d <= 0 {
		panic("non-positive interval for Ticker.Reset")
`, `	period := d
	if runtimeIsBubbled() && d >= 0 {
		d, period = max(d, 1), max(d, 100*Microsecond)
	}
	if d <= 0 {
		panic("non-positive interval for Ticker.Reset")
`, "computing takes no simulated time: etcd resets a ticker to how long its pass over the watchers took, which is never 0 on Linux"),

	replace("time/tick.go", "when(d), int64(d))\n}\n\n// Tick is", "when(d), int64(period))\n}\n\n// Tick is",
		"while who reads it is stalled, a ticker of a nanosecond would tick for hours"),

	after("runtime/time.go", "	t.trace(\"modify\")\n", "	simTimed(when)\n",
		"what is pending is part of where a run is"),

	after("runtime/time.go", "	t.trace(\"stop\")\n", "	simTimed(0)\n", "what is pending is part of where a run is"),

	replace("runtime/time.go", "	f(arg, seq, delay)\n", `	if bubble != nil && bubble.sim {
		if sim.dead[t.simGroup] {
			f = func(any, uintptr, int64) {}
		}
		getg().simGroup = t.simGroup
	}
	f(arg, seq, delay)
`, "the timers of a crashed process never fire; AfterFunc's goroutine belongs to the process that made it"),
}

// clockEdits let the wall clocks of processes jump.
var clockEdits = []Edit{
	replace("runtime/time.go", `		// Don't return a monotonic time inside a synctest bubble.
`, `		if bubble.sim {
			simReadClock()
			simBusy()
			wall := bubble.now + sim.wall[getg().simGroup]
			return wall / (1000 * 1000 * 1000), int32(wall % (1000 * 1000 * 1000)), bubble.now - sim.begin + 1
		}
		// Don't return a monotonic time inside a synctest bubble.
`, "a time has two readings, as outside: that of the wall clock of the process, which may jump, and that of the simulated clock"),

	after("runtime/time.go", "func time_runtimeNano() int64 {\n", "	simReadClock()\n	simBusy()\n",
		"what a goroutine has read is part of where a run is"),

	after("runtime/proc.go", "	close(main_init_done)\n", "	simInitialised = true\n", ""),

	replace("runtime/time.go", "	return time_now()\n", `	sec, nsec, mono = time_now()
	if !simInitialised {
		sec, nsec = simInitTime, 0
	}
	return sec, nsec, mono
`, "process-wide: packages that initialise random numbers from the wall clock have the same ones in every process"),

	replace("time/time.go", "var startNano int64 = runtimeNano() - 1\n", "var startNano int64\n",
		"process-wide: monotonic readings of a simulation are the same in every process"),
}
