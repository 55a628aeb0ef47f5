// This file is added to package runtime by watchsim's toolchain overlay.
//
// A bug often needs a goroutine to be held up at one place of the code and at no
// other. Stalls that are spread evenly over all places hardly ever do that. A
// focused run therefore holds up whoever comes by a few places, which the seed
// picks: at these, one time in a few is a stall, and ever fewer the busier the
// place is, so that a run is not all waiting.

package runtime

import "unsafe"

const (
	simSitesMax   = 1 << 15 // places told apart in a run
	simSiteFrames = 5       // callers that tell places apart
	simSiteOneIn  = 4       // visits of a place in focus from one stall to the next, at first
	simSiteFading = 8       // visits by which that grows by one
)

// simSites knows a place by its callers. Most places are not in focus, so that what is
// looked at each time is kept small.
var simSites struct {
	count int
	keys  [simSitesMax]uint64 // of the addresses of the callers, with simSiteFocus if they are
	hits  [simSitesMax]uint32 // visits, if the place is in focus
}

const (
	simSiteFocus = 1 // in a key: the place is in focus
	simSiteUsed  = 2 // in a key: always
)

// simForgetSites is for when other places may be in focus.
func simForgetSites() {
	if simSites.count > 0 {
		simSites.count = 0
		clear(simSites.keys[:])
		clear(simSites.hits[:])
	}
}

// simFocused reports whether the calling goroutine is to be held up here.
func simFocused() bool {
	var callers [simSiteFrames]uintptr
	n := fpTracebackPCs(unsafe.Pointer(getfp()), callers[:])
	key := uint64(n)
	for _, pc := range callers[:n] {
		key = (key ^ uint64(pc)) * 0x9fb21c651e98df25
		key ^= key >> 32
	}
	slot := key % simSitesMax
	key = key&^simSiteFocus | simSiteUsed
	for {
		switch known := simSites.keys[slot]; {
		case known == key:
			return false
		case known == key|simSiteFocus:
			return simHit(&simSites.hits[slot])
		case known == 0:
			if simSites.count++; simSites.count > simSitesMax/4*3 {
				throw("watchsim: too many places to focus on in one run")
			}
			// Of the function and the line within it; other code moves neither.
			picked := (simSiteName(callers[:n]) ^ sim.p.focusSeed) * 0x9fb21c651e98df25
			if (picked>>32)%sim.p.focusOneIn != 0 {
				simSites.keys[slot] = key
				return false
			}
			simSites.keys[slot] = key | simSiteFocus
			return simHit(&simSites.hits[slot])
		}
		slot = (slot + 1) % simSitesMax
	}
}

// simHit counts a visit of a place in focus, and decides whether to hold up the visitor.
func simHit(hits *uint32) bool {
	*hits++
	return simChoose(simKindFocus, simSiteOneIn+min(*hits/simSiteFading, 1<<20)) == 0
}

// simSiteName names a place by the first caller outside of the packages that
// synchronise, and by the line within it.
func simSiteName(callers []uintptr) uint64 {
	name := uint64(14695981039346656037)
	for _, pc := range callers {
		f := findfunc(pc - 1)
		if !f.valid() {
			continue
		}
		u, uf := newInlineUnwinder(f, pc-1)
		for ; uf.valid(); uf = u.next(uf) {
			sf := u.srcFunc(uf)
			called := sf.name()
			if simSynchronises(called) {
				continue
			}
			_, line := u.fileLine(uf)
			for i := 0; i < len(called); i++ {
				name = (name ^ uint64(called[i])) * 1099511628211
			}
			return (name ^ uint64(int32(line)-sf.startLine)) * 1099511628211
		}
	}
	return name
}

func simSynchronises(function string) bool {
	for _, prefix := range [...]string{"runtime.", "sync.", "internal/sync."} {
		if len(function) > len(prefix) && function[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}
