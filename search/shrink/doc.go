// Package shrink makes a failing run smaller while the same guarantee stays
// broken: fewer faults, clients, operations and forced context switches, and less
// time.
//
// What is left is a spec with the steps that clients still take, a plan, and a
// tape. The parts are independent of each other: a step asks for the same whether
// those before it are taken or not, a line of a plan is a fault of its own, and a
// tape is only needed if the failure does not show when goroutines take turns. A run without
// a tape survives edits of the code best, so that is tried first.
//
//   - case.go: a run that can be made smaller, and what of it can be left out
//   - search.go: what is tried, in which order
//   - told.go: leaving out at once what the violation does not tell of
//   - schedule.go: schedules that force less, and tapes with fewer choices
//   - runner.go: candidates as jobs of workers, from where they diverge from each other;
//     several at a time, with one result for any number of workers
package shrink
