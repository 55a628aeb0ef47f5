package overlay

// mapEdits make maps keyed by pointers iterate in an order the seed decides.
// Such a map is hashed by address, and addresses depend on what the process
// allocated before; while it is simulated, a pointer is hashed by its identity
// instead: when and by whom it was first hashed in this run. Which maps do is
// written into their seed.
var mapEdits = []Edit{
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
	if simByIdentity(seed) {
		a = simIdentity(a)
	}
	return mix(m5^8, mix(a^hashkey[1], a^seed^hashkey[0]))
`, "pointers are hashed by identity"),

	after("runtime/alg.go", "func typehash(t *_type, p unsafe.Pointer, h uintptr) uintptr {\n", `	if simByIdentity(h) && t.PtrBytes != 0 && (t.Kind() == abi.Struct || t.Kind() == abi.Array) {
		return simPartsHash(t, p, h)
	}
`, "pointers within a key are hashed by identity"),

	replace("internal/abi/map.go", "	Hasher    func(unsafe.Pointer, uintptr) uintptr\n", "	KeyHasher func(unsafe.Pointer, uintptr) uintptr\n",
		"a method takes the name of the field, so that every use of it becomes a call"),
	replace("reflect/map.go", "	mt.Hasher = func(p unsafe.Pointer, seed uintptr) uintptr {\n", "	mt.KeyHasher = func(p unsafe.Pointer, seed uintptr) uintptr {\n",
		"the field has another name"),

	replace("runtime/mgc.go", "		mProf_PostSweep()\n	}\n	releasem(mp)\n", `		mProf_PostSweep()
	}
	releasem(mp)
	simForgetPointers()
`, "the memory of what was collected is used again"),

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
