// Package fork copies this process, with a paused world in it, so that the copy continues
// and the original can be copied again.
//
// A copy has everything that the original has at that moment: goroutines, timers,
// connections, and files in memory. However it ends, the original survives, and learns how:
// by an answer over a pipe, by what the copy wrote to standard error, and by its exit
// status.
//
//   - fork.go: making a copy, and waiting for it.
//   - limits.go: what a copy may use.
//   - ended.go: how a copy ended, in a sentence.
//   - program.go: making a process cheap to copy.
package fork
