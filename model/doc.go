// Package model answers one question: what must a client of a watch cache see,
// given what etcd committed?
//
// It is the specification that the oracle checks histories against, as pure
// functions over plain types:
//
//   - history.go: what a run records, the requests clients make, and the identity of an object
//   - store.go: the state of the resource at any revision
//   - authors.go: which operation made a change
//   - staircase.go: when an RV had been reached, and the evidence
//   - watch.go: what a watch is owed: scope, selector, and the types of events
//   - stream.go: what may arrive on one stream, as a state machine
//   - window.go: which watches a cache can serve, how it refuses the others, and what
//     etcd has discarded
//   - census.go: what an API server held at a moment; etcd's leaders, and the windows
//     of caches, over time
//   - mutation.go: the mark of a consumer that mutates the objects it receives
//   - describe.go: how reports word the parts of a history
//
// The package has no goroutines and no clock, and imports nothing of the
// project.
package model
