// Package judge answers what the oracle says of a history that lies in a file. Its second
// question is how old what each API server showed was.
//
// It joins the rooms that know nothing of each other: package traces reads the
// history, package linearizability judges it, and package explain says what
// happened around each violation.
//
//   - open.go: files, folders of runs, standard input, compressed or not
//   - judge.go: one file to one [Verdict]
//   - staleness.go: how old what each server showed was, and a bound on that
//   - looks.go: what reads and streams showed, and when
//   - known.go: what anybody had been shown by a time
//   - report.go: the verdict for people
//
// Where the history comes from does not matter; docs/history-format.md says how
// to write one.
package judge
