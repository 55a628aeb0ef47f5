package overlay

// randomEdits draw random numbers from the seed.
var randomEdits = []Edit{
	replace("runtime/rand.go", "	globalRand.state.Init(*seed)\n", `	for i := range seed {
		seed[i] = byte(i)
	}
	globalRand.state.Init(*seed)
`, "process-wide: the same start-up state in every process"),

	replace("runtime/rand.go", `	// Note: We avoid acquirem here so that in the fast path
`, `	if simOutside != 0 {
		return simRandom()
	}
	// Note: We avoid acquirem here so that in the fast path
`, "process-wide: random numbers follow the seed inside a simulation, a constant outside"),

	replace("runtime/rand.go", "	mp.cheaprand = rand()\n", "	mp.cheaprand = bootstrapRand()\n",
		"process-wide: how many threads there are by when is the system's doing, and nothing may follow from it"),

	replace("runtime/rand.go", `func maps_rand() uint64 {
	return rand()
`, `func maps_rand() uint64 {
	if !simActive() {
		return 0x5851f42d4c957f2d
	}
	return rand()
`, "process-wide: maps made before a run iterate alike in every process"),

	after("crypto/internal/sysrand/rand.go", "func Read(b []byte) {\n", `	if simFill(b) {
		return
	}
`, "crypto/rand follows the seed, raft's election timeouts with it"),

	after("crypto/internal/sysrand/rand.go", `//go:linkname fatal
func fatal(string)
`, `
//go:linkname simFill runtime.simFill
func simFill(b []byte) bool
`, ""),
}
