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
	simSitesMax   = 1 << 15 // stacks, and places in focus, in a run
	simSiteFrames = 7       // callers that tell stacks apart
	simSiteOneIn  = 4       // visits of a place in focus from one stall to the next, at first
	simSiteFading = 8       // visits by which that grows by one
)

// simSites knows each stack that has come by a place, and each place in focus, by its name.
// Most stacks are at no place in focus, so that what is looked at each time is kept small.
var simSites struct {
	count int
	keys  [simSitesMax]uint64 // of a stack or a name; 0 is neither
	notes [simSitesMax]uint32 // of a stack, the slot of its place, with simSiteFocus; of a place, its visits
}

const simSiteFocus = 1 << 31 // the stack is at a place in focus

// simForgetSites is for when other places may be in focus.
func simForgetSites() {
	if simSites.count > 0 {
		simSites.count = 0
		clear(simSites.keys[:])
		clear(simSites.notes[:])
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
	stack, known := simSite(key)
	if !known {
		name := simSiteName(callers[:n])
		picked := (name ^ sim.p.focusSeed) * 0x9fb21c651e98df25
		if (picked>>32)%sim.p.focusOneIn == 0 {
			place, _ := simSite(name)
			simSites.notes[stack] = simSiteFocus | uint32(place)
		}
	}
	place := simSites.notes[stack]
	if place&simSiteFocus == 0 {
		return false
	}
	visits := &simSites.notes[place&^simSiteFocus]
	*visits++
	return simChoose(simKindFocus, simSiteOneIn+min(*visits/simSiteFading, 1<<20)) == 0
}

// simSite returns the slot of a key, and reports whether the key was there before.
func simSite(key uint64) (slot uint64, known bool) {
	key |= 1 // 0 is an empty slot
	for slot = key >> 1 % simSitesMax; simSites.keys[slot] != key; slot = (slot + 1) % simSitesMax {
		if simSites.keys[slot] == 0 {
			if simSites.count++; simSites.count > simSitesMax/4*3 {
				throw("watchsim: too many places to focus on in one run")
			}
			simSites.keys[slot] = key
			return slot, false
		}
	}
	return slot, true
}

// simSiteName names a place by what synchronises there and by the first caller outside of
// the packages that synchronise. It knows nothing of lines: whether a deferred call is made
// where its function returns, or by the runtime through a function of its own, is for the
// compiler to say, and with the race detector it says otherwise.
func simSiteName(callers []uintptr) uint64 {
	name := uint64(14695981039346656037)
	for i, pc := range callers {
		f := findfunc(pc - 1)
		if !f.valid() {
			continue
		}
		if i == 1 { // the caller of simPoint
			name = simSiteHash(name, funcname(f))
		}
		u, uf := newInlineUnwinder(f, pc-1)
		for ; uf.valid(); uf = u.next(uf) {
			if called := simUndeferred(u.srcFunc(uf).name()); !simSynchronises(called) {
				return simSiteHash(name, called)
			}
		}
	}
	return name
}

func simSiteHash(name uint64, part string) uint64 {
	for i := 0; i < len(part); i++ {
		name = (name ^ uint64(part[i])) * 1099511628211
	}
	return name
}

// simUndeferred returns the name of a function without the ending that the compiler gives
// to what it makes of a deferred call.
func simUndeferred(function string) string {
	const ending = ".deferwrap"
	end := len(function)
	for end > 0 && '0' <= function[end-1] && function[end-1] <= '9' {
		end--
	}
	if end >= len(ending) && function[end-len(ending):end] == ending {
		return function[:end-len(ending)]
	}
	return function
}

func simSynchronises(function string) bool {
	for _, prefix := range [...]string{"runtime.", "sync.", "internal/sync."} {
		if len(function) > len(prefix) && function[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}
