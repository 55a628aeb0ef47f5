// This file is added to package internal/abi by watchsim's toolchain overlay.

package abi

import "unsafe"

// SimSeedTag is what the seed of a map begins with, in its upper 16 bits, that hashes pointers
// by their identity.
const SimSeedTag = 0xa51d

// Hasher hashes a key. What the compiler generates for a struct or an array hashes pointers as
// plain memory, so that such a key is taken apart where pointers count by their identity.
func (mt *MapType) Hasher(key unsafe.Pointer, seed uintptr) uintptr {
	if seed>>48 == SimSeedTag && (mt.Key.Kind() == Struct || mt.Key.Kind() == Array) {
		return simPartsHash(mt.Key, key, seed)
	}
	return mt.KeyHasher(key, seed)
}

//go:noescape
//go:linkname simPartsHash runtime.simPartsHash
func simPartsHash(key *Type, p unsafe.Pointer, seed uintptr) uintptr
