// This file is added to package runtime by watchsim's toolchain overlay.
//
// A map keyed by pointers hashes addresses, and addresses depend on whatever else the
// process has allocated: for a trace, for a log, for an earlier branch. While
// simulating, such a map hashes the identity of a pointer instead: when and by whom it
// was first hashed. A map's seed says that it does. An identity lasts as long as what
// its pointer points to: the memory of what was collected is used again, and whatever
// comes to lie there is something new.

package runtime

import (
	"internal/abi"
	"unsafe"
)

const (
	simSeedTag       = abi.SimSeedTag
	simSeedMask      = 1<<48 - 1
	simIdentityFirst = 1 << 12 // places for identities at first; a power of two
)

type simIdentityOf struct {
	key uintptr // address
	id  uint64
}

var simIdentities struct {
	place uint64 // where the run was when the last pointer was hashed
	next  uint64 // pointers hashed there
	count int
	table []simIdentityOf
}

// simIdentitySlot is where the entry of a key is, or would be.
func simIdentitySlot(key uintptr) *simIdentityOf {
	table := simIdentities.table
	slot := key * 0x9fb21c651e98df25 >> 24
	for {
		entry := &table[slot&uintptr(len(table)-1)]
		if entry.key == key || entry.key == 0 {
			return entry
		}
		slot++
	}
}

// simRoomForIdentity makes the table large enough for one more. The memory is not of
// the heap, as maps are hashed in places that may not allocate there.
func simRoomForIdentity() {
	old := simIdentities.table
	if simIdentities.count < len(old)/4*3 {
		return
	}
	size := max(simIdentityFirst, 2*len(old))
	const bytes = unsafe.Sizeof(simIdentityOf{})
	memory := sysAlloc(uintptr(size)*bytes, &memstats.other_sys, "watchsim: identities of pointers")
	if memory == nil {
		throw("watchsim: no memory for the identities of pointers")
	}
	simIdentities.table = unsafe.Slice((*simIdentityOf)(memory), size)
	for _, entry := range old {
		if entry.key != 0 {
			*simIdentitySlot(entry.key) = entry
		}
	}
	if len(old) > 0 {
		sysFree(unsafe.Pointer(unsafe.SliceData(old)), uintptr(len(old))*bytes, &memstats.other_sys)
	}
}

// simForgetPointers forgets the identities of what is no more. It is called at the
// end of each collection.
func simForgetPointers() {
	if simIdentities.count == 0 {
		return
	}
	left := make([]simIdentityOf, 0, simIdentities.count)
	for _, entry := range simIdentities.table {
		if entry.key != 0 && simAllocated(entry.key) {
			left = append(left, entry)
		}
	}
	clear(simIdentities.table)
	for _, entry := range left {
		*simIdentitySlot(entry.key) = entry
	}
	simIdentities.count = len(left)
}

// simAllocated reports whether an object lies at an address of the heap. It holds
// between a collection and the next allocation.
func simAllocated(a uintptr) bool {
	s := spanOfHeap(a)
	return s != nil && !s.isFree(s.objIndex(a))
}

// simMapSeed marks the seed of a map that a simulated goroutine makes, if the map
// hashes pointers.
//
//go:linkname simMapSeed
func simMapSeed(key *abi.Type, seed uintptr) uintptr {
	if simActive() {
		return simPointerSeed(key, seed)
	}
	return seed
}

// simPointerSeed marks the seed of a map if the map hashes pointers.
func simPointerSeed(key *abi.Type, seed uintptr) uintptr {
	if simHasPointers(key) {
		return simSeedTag<<48 | seed&simSeedMask
	}
	return seed
}

// simHasPointers reports whether hashing a key of that type hashes pointers.
func simHasPointers(key *abi.Type) bool {
	switch key.Kind() {
	case abi.Pointer, abi.UnsafePointer, abi.Chan, abi.Interface:
		return true
	case abi.Array:
		return simHasPointers((*arraytype)(unsafe.Pointer(key)).Elem)
	case abi.Struct:
		for _, field := range (*structtype)(unsafe.Pointer(key)).Fields {
			if simHasPointers(field.Typ) {
				return true
			}
		}
	}
	return false
}

// simByIdentity reports whether a seed is that of a map that hashes pointers by identity.
//
//go:nosplit
func simByIdentity(seed uintptr) bool {
	return seed>>48 == simSeedTag || (seed^c0)>>48 == simSeedTag // the latter by way of an interface
}

// simPartsHash hashes a struct or an array with a marked seed. Go hashes neighbours without
// padding as one piece of memory, and what comes first is the seed of what comes next, which
// has no mark then: pointers in such a key would be hashed by address.
//
//go:linkname simPartsHash
func simPartsHash(t *abi.Type, p unsafe.Pointer, seed uintptr) uintptr {
	h := seed
	switch t.Kind() {
	case abi.Array:
		elem := (*arraytype)(unsafe.Pointer(t)).Elem
		for i := uintptr(0); i < (*arraytype)(unsafe.Pointer(t)).Len; i++ {
			h = typehash(elem, add(p, i*elem.Size_), seed&^simSeedMask|h&simSeedMask)
		}
	case abi.Struct:
		for _, field := range (*structtype)(unsafe.Pointer(t)).Fields {
			if !field.Name.IsBlank() {
				h = typehash(field.Typ, add(p, field.Offset), seed&^simSeedMask|h&simSeedMask)
			}
		}
	}
	return h
}

// simTrieSeed is the seed of a map of package sync. Those made before a run have one, and
// hash pointers by identity, too: simulated goroutines come to use them, and meet where
// two keys are neighbours. A process with several Ps does not simulate, and the table of
// identities has no lock.
//
//go:linkname simTrieSeed
func simTrieSeed(key *abi.Type) uintptr {
	const before = 0x5851f42d4c957f2d
	switch {
	case simActive():
		return simPointerSeed(key, uintptr(rand()))
	case gomaxprocs == 1:
		return simPointerSeed(key, before)
	}
	return before
}

// simIdentity returns the identity of the pointer a: that of a type which the linker has placed is
// the hash of its name, as its address moves with whatever else is in the binary: informer factories
// range over maps of types, and any edit would make another run of each seed. It is a itself where
// it points neither to a type nor into the heap.
func simIdentity(a uintptr) uintptr {
	if firstmoduledata.types <= a && a < firstmoduledata.etypes-unsafe.Sizeof(_type{}) {
		return uintptr((*_type)(unsafe.Pointer(a)).Hash)
	}
	if a>>47 != 0 {
		return a
	}
	arena := arenaIndex(a)
	if l2 := mheap_.arenas[arena.l1()]; l2 == nil || l2[arena.l2()] == nil {
		return a
	}
	simRoomForIdentity()
	entry := simIdentitySlot(a)
	if entry.key == a {
		return uintptr(entry.id)
	}
	simIdentities.count++
	if gp := getg(); gp.simAside > 0 {
		gp.simAsideID++
		entry.key, entry.id = a, gp.simAsideID
		return uintptr(entry.id)
	}
	place := sim.c.points<<20 ^ sim.c.randoms
	if place != simIdentities.place {
		simIdentities.place, simIdentities.next = place, 0
	}
	simIdentities.next++
	sim.c.identities++
	entry.key = a
	entry.id = (getg().simID<<44 ^ place<<8 ^ simIdentities.next) * 0x9fb21c651e98df25
	return uintptr(entry.id)
}
