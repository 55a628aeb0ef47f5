// Package explore searches the schedules of one small scenario: what can the order
// of things come to, and does a guarantee break in any of it?
//
// A [Strategy] proposes attempts and learns from each what it was like; [Search] has
// them run, several at a time, and counts. Whatever runs an attempt, a worker process
// or a test, is a [Runner].
//
//   - strategy.go: what an attempt is, and what a strategy does.
//   - random.go: the random walk with stalls that a seed alone makes.
//   - priorities.go: random priorities with a few changes (PCT).
//   - exhaustive.go: every schedule that deviates from the plain one at most so many
//     times, each state but once.
//   - branching.go: back to states that runs have rarely come to.
//   - search.go: runs a strategy to its end or to a limit.
//   - tally.go: how many shapes there were, and whether new ones still come.
//   - pooled: attempts at a scenario, run by worker processes.
package explore
