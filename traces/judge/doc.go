// Package judge answers one question: what does the oracle say of a history that
// lies in a file?
//
// It joins the rooms that know nothing of each other: package traces reads the
// history, package linearizability judges it, and package explain says what
// happened around each violation.
//
//   - open.go: files, folders of runs, standard input, compressed or not
//   - judge.go: one file to one [Verdict], also with a bound on how stale a server may be
//   - report.go: the verdict for people
//
// Where the history comes from does not matter; docs/history-format.md says how
// to write one.
package judge
