// Package shrink makes a failing run smaller while the same guarantee stays
// broken: fewer faults, clients, operations and forced context switches, and less
// time.
//
// What is left is a spec with the clients' remaining steps, a plan, and a tape. The parts are
// independent: a step requests the same whether those before it are taken or not, a line of a plan
// is a fault of its own, and a tape is only needed if the failure does not show when goroutines
// take turns. A run without a tape survives edits of the code best, so that is tried first.
//
//   - case.go: a run that can be made smaller, and what can be left out
//   - search.go: what is tried, and in which order
//   - told.go: leaving out at once what the violation does not mention
//   - schedule.go: schedules that force less, and tapes with fewer deviations
//   - runner.go: candidates as jobs of workers, from where they diverge; several at a time, with
//     the same result for any number of workers
package shrink
