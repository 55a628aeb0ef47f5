// Package stale answers one question: how old was what each API server showed?
//
// It compares every read and every watch with the newest that anybody had been shown
// by then, by whatever server. It judges nothing: a read at resourceVersion 0 may be
// stale by as much as it likes. What must not be is for package linearizability.
//
//   - stale.go: the servers, and what is said of them
//   - looks.go: what reads and streams showed, and when
//   - known.go: what anybody had been shown by a time
//   - text.go: the same in sentences
package stale
