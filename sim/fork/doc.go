// Package fork copies this process, with a world that stands still in it, so that the
// copy goes on and the original can be copied again.
//
// A copy has everything that the original has at that moment: goroutines, timers,
// connections, and files in memory. It ends alone, whatever becomes of it, and the
// original learns how: by an answer over a pipe of its own, by what it wrote to standard
// error, and by its exit status.
//
//   - fork.go: making a copy, and waiting for it.
//   - limits.go: what a copy may use.
//   - ended.go: how a copy ended, in a sentence.
//   - program.go: making a process cheap to copy.
package fork
