// This file is added to package runtime by watchsim's toolchain overlay.
//
// Processes are groups of goroutines, which crash together and have a wall clock.

package runtime

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
