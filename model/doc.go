// Package model answers one question: what must a client of a watch cache see,
// given what etcd committed?
//
// It is the specification the oracle judges histories by, written as pure
// functions over plain types:
//
//   - history.go: what a run records, and the requests clients make
//   - key.go: the identity of an object, and the order etcd keeps keys in
//   - store.go: the state of the resource at any revision
//   - authors.go: which operation made a change
//   - staircase.go: when an RV had been reached, and what shows it
//   - watch.go: what a watch is owed: scope, selector, and the types of events
//   - stream.go: what may arrive on one stream, as a state machine
//   - window.go: which watches a cache can serve, how it refuses the others, and what
//     etcd has discarded
//   - census.go: what an API server held at a moment; who led etcd, and what caches
//     held, from one change to the next
//   - mutation.go: the mark that a careless consumer leaves on what it received
//   - describe.go: the one wording for the parts of a history
//
// The package has no goroutines and no clock, and imports nothing of the
// project.
package model
