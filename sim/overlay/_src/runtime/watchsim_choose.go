// This file is added to package runtime by watchsim's toolchain overlay.
//
// What is left to chance: decisions, which follow from the seed or a tape, random
// numbers, and the running hash of all of them.

package runtime

import (
	"internal/runtime/math"
	"unsafe"
)

// simOutside is the random state of everything that is not simulated. It starts
// the same in every process, so that maps made by package initialisers do too.
var simOutside uint64 = 0x9e3779b97f4a7c15

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
