package faults

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"
)

// Plans draws plans in tests with rapid, which looks for fewer and shorter faults once a test
// fails. They have the faults of [Generate], without its patterns: some kinds, and up to MaxCount
// faults of each on average. It fails the test if the configuration names an unknown kind.
func Plans(config GeneratorConfig) *rapid.Generator[Plan] {
	return rapid.Custom(func(t *rapid.T) (plan Plan) {
		candidates, err := config.candidates()
		if err != nil {
			t.Fatal(err)
		}
		if len(candidates) == 0 {
			return nil
		}
		kinds := rapid.SliceOfNDistinct(rapid.SampledFrom(candidates), 1, -1, func(kind Kind) string { return kind.Name }).Draw(t, "kinds")
		drawn := rapid.Custom(func(t *rapid.T) (fault Fault) {
			random, kind, draw := rand.New(words{t}), rapid.SampledFrom(kinds).Draw(t, "kind"), config.drawFirst
			if len(config.Servers) > 0 && rapid.Bool().Draw(t, "waits") {
				draw = config.drawWaiting
			}
			fault, _ = draw(random, kind)
			return fault
		})
		for _, fault := range rapid.SliceOfN(drawn, 0, config.MaxCount*len(kinds)).Draw(t, "faults") {
			if fault.Kind != "" { // there is time for it
				plan = config.add(plan, fault)
			}
		}
		slices.SortStableFunc(plan, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
		return plan
	})
}

// words is a source of random numbers that rapid draws.
type words struct{ t *rapid.T }

// Uint64 implements rand.Source. Rapid prefers small numbers, but consumers use the high bits:
// reversing the bits lets a small number be any choice.
func (w words) Uint64() uint64 { return bits.Reverse64(rapid.Uint64().Draw(w.t, "")) }
