// Package explore searches the schedules of one small scenario: which interleavings are possible,
// and does a guarantee break in any of them?
//
// A [Strategy] proposes attempts and learns from their outcomes; [Search] runs them, several
// at a time, and counts. A [Runner] runs an attempt: in a worker process, or in a test.
//
//   - strategy.go: what an attempt is, and what a strategy does; the random walk with
//     stalls that a seed alone makes, and random priorities with a few changes (PCT).
//   - exhaustive.go: every schedule with a bounded number of deviations, each state once.
//   - branching.go: resumes from states that runs have rarely reached.
//   - search.go: runs a strategy to its end or to a limit.
//   - tally.go: how many shapes there were, and whether new ones still appear.
package explore
