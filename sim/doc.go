// Package sim is the deterministic world: one seed in, the same run out.
//
// [Run] runs a function, and every goroutine that it starts directly or not, on
// a simulated clock and under a scheduler whose every decision follows from a
// [Source]: a seed, or a recorded tape. The code that runs is ordinary Go and
// does not know it; the Go runtime it was built with does (package overlay).
//
//   - config.go: what a run is given: source, limits, intensity of the schedule.
//   - world.go: Run, and what a running simulation offers.
//   - pause.go: stopping in the middle, and going on.
//   - source.go: where decisions come from.
//   - explore.go: runs that a search can steer, and what it learns of them.
//   - process.go: groups of goroutines that crash together.
//   - random.go: named random streams.
//   - trace.go: everything that happened in a run, and the first divergence of two runs.
//   - decisions.go: the decisions in a trace, as text.
//   - logbook.go: what the code of a run logs.
//   - here.go: where a debugger stops.
//   - result.go: how a run ended, and what it leaves to look at.
//   - isolate: helpers for tests that simulate.
package sim
