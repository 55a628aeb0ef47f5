// Package judge answers two questions about a history in a file: what is the oracle's
// verdict, and how stale were the states that each API server returned?
//
// It combines packages that do not know each other: package traces reads the
// history, package linearizability judges it, and package explain says what
// happened around each violation.
//
//   - open.go: files, folders of runs, standard input, compressed or not
//   - judge.go: one file to one [Verdict]
//   - staleness.go: how stale each server was, and a bound on that
//   - looks.go: the states that reads and streams returned, when, and which revisions
//     had been returned to anybody by then
//   - report.go: the verdict as text
//
// The source of the history does not matter; docs/history-format.md says how to write
// one.
package judge
