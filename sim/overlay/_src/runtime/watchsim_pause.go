// This file is added to package runtime by watchsim's toolchain overlay.
//
// A run pauses where one of its goroutines asks for it, at a decision, or at an
// instant. Every goroutine stays as it is, the bubble's root leaves the bubble and
// calls whoever wanted the pause, and the run goes on from there: in place, or in a
// copy of the process that was made meanwhile. Nothing of that shows in the run.

package runtime

import (
	"internal/goarch"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// simBeginRun has the decisions that follow come from other parameters.
func simBeginRun(params *simParams) {
	params.setWindow = simSetWindow
	if params.focusSeed != sim.p.focusSeed || params.focusOneIn != sim.p.focusOneIn {
		simForgetSites()
	}
	sim.p = *params
	sim.sched = params.schedSeed
	sim.code = params.codeSeed
	sim.countdown = 1
	sim.c.replayed, sim.c.recorded, sim.c.traced, sim.c.choices = 0, 0, 0, 0
	sim.c.diverged, sim.c.tapeFull, sim.c.choicesFull = 0, 0, 0
}

// simResetCounts has the run that follows count its own decisions and events alone; the
// hash is that of everything since the world began.
func simResetCounts() {
	sim.c = simCounters{hash: sim.c.hash, goroutines: sim.c.goroutines, running: sim.c.running}
	sim.instant, sim.passed, sim.busy = 0, 0, 0
}

// simPauseDue reports whether the run has come to the decision that it is to pause at.
//
//go:nosplit
func simPauseDue() bool { return sim.p.pauseAt != 0 && sim.c.decisions >= sim.p.pauseAt }

// simAskPause pauses the run at the calling goroutine, which goes on afterwards before
// any other.
func simAskPause() {
	sim.asked = true
	mcall(gopreempt_m)
}

// simPausing has the bubble's root picked next, if it waits, so that it pauses the run.
//
//go:nowritebarrierrec
func simPausing() *g {
	root := sim.bubble.root
	if readgstatus(root)&^_Gscan != _Gwaiting {
		return nil
	}
	sim.asked = false
	sim.p.pauseAt = 0
	sim.pausing = true
	casgstatus(root, _Gwaiting, _Grunnable)
	return root
}

// simPaused is called by the bubble's root each time that it has been picked. It
// reports whether that was for a pause, which is over then.
func simPaused(root *g) bool {
	if !sim.pausing {
		return false
	}
	sim.pausing = false
	root.bubble.active++ // as whoever wakes the root does
	simPause(root)
	return true
}

// simPause calls whoever wanted the pause. The root leaves the bubble meanwhile, so
// that neither the clock nor the random numbers of the run notice what is done.
func simPause(root *g) {
	bubble := root.bubble
	root.bubble = nil
	sim.paused = true
	sim.onPause()
	sim.paused = false
	root.bubble = bubble
}

// simResume has the decisions after a pause come from other parameters, which say
// where the next pause is. With reset, the counters start from zero here.
func simResume(params *simParams, reset bool) {
	if reset {
		simResetCounts()
	}
	simBeginRun(params)
	if params.explore != 0 {
		simExploreBegin(sim.bubble.root)
		forEachG(func(gp *g) {
			if gp.bubble == sim.bubble && gp != sim.bubble.root && readgstatus(gp)&^_Gscan != _Gdead {
				simExploreKnown(gp)
			}
		})
	}
}

// simFollow has the decisions from here on come from another seed, or from a tape. What
// the code draws, and what is recorded, goes on.
func simFollow(params *simParams) {
	sim.sched = params.schedSeed
	sim.p.schedSeed = params.schedSeed
	sim.p.replay, sim.p.replayLen, sim.c.replayed = params.replay, params.replayLen, 0
}

// simPauseNext says where the next pause is, and leaves everything else as it is.
func simPauseNext(at uint64, instant int64) { sim.p.pauseAt, sim.p.pauseInstant = at, instant }

// simCountersNow is what there is to count so far.
func simCountersNow(counters *simCounters) {
	*counters = sim.c
	counters.now = sim.bubble.now - sim.begin
}

const (
	simSysClone   = 56*goarch.IsAmd64 + 220*goarch.IsArm64
	simSignalChld = 17
)

// simFork copies the process, of which only the calling thread is left in the copy. It
// returns the copy's process ID, 0 in the copy itself, and an error number.
//
// While it happens no other thread is at anything of the scheduler's: sysmon and the
// idle threads do that with the two locks held. There is one P, so that no other thread
// runs Go.
func simFork() (pid int, errno uintptr) {
	systemstack(func() {
		lock(&sched.sysmonlock)
		lock(&sched.lock)
		r, _, e := linux.Syscall6(simSysClone, simSignalChld, 0, 0, 0, 0, 0)
		pid, errno = int(r), e
		if e == 0 && r == 0 {
			simForgetThreads()
		}
		unlock(&sched.lock)
		unlock(&sched.sysmonlock)
	})
	if errno == 0 && pid == 0 && netpollinited() {
		// The poller's descriptors are shared with the parent. What either waits for
		// there, the other would be told of.
		closefd(epfd)
		closefd(int32(netpollEventFd))
		netpollinit()
	}
	return pid, errno
}

// simForgetThreads has the copy forget the threads that it does not have. Sysmon is
// one of them; while simulating it is not missed.
func simForgetThreads() {
	for sched.midle.pop() != nil {
		sched.nmidle--
	}
	sched.nmspinning.Store(0)
	// One of them may have been waiting in the poller, for all.
	sched.lastpoll.CompareAndSwap(0, nanotime())
	sched.pollUntil.Store(0)
	netpollWakeSig.Store(0)
	self := getg().m
	self.procid = uint64(gettid())
	forEachGRace(func(gp *g) {
		if gp.lockedm != 0 && gp.lockedm.ptr() != self {
			gp.lockedm = 0 // its thread will not run it
		}
	})
	sim.copied = true
}

// simGrown is called with what the heap has grown by. A copy touches most of that, and for
// the first time, which costs a page fault for each page: so they are huge ones. What
// the original has touched would be copied on writing, and is left in small ones.
func simGrown(base, size uintptr) {
	if sim.copied {
		sysHugePage(unsafe.Pointer(base), size)
	}
}
