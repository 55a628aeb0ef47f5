// Package sim is the deterministic world: one seed in, the same run out.
//
// [Run] runs a function, and every goroutine that it starts directly or indirectly, on a simulated
// clock and under a scheduler whose every decision follows from a [Source]: a seed, or a recorded
// tape. The code that runs is ordinary Go and does not know it; the Go runtime it was built with
// does (package overlay).
//
//   - config.go: the configuration of a run: source, limits, intensity of the schedule.
//   - world.go: Run, and what a running simulation offers.
//   - pause.go: pausing and continuing.
//   - source.go: the sources of decisions, and named random streams.
//   - explore.go: runs that a search can steer, and what it learns from them.
//   - process.go: groups of goroutines that crash together.
//   - trace.go: everything that happened in a run, and the first divergence of two runs.
//   - decisions.go: the decisions in a trace, as text, and how far they deviate.
//   - logbook.go: the logs of a run.
//   - result.go: how a run ended, where a debugger stops, and the recordings.
//   - isolate: helpers for tests that simulate.
package sim
