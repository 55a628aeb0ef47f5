// Package linearizability answers one question: does a recorded history obey
// the model?
//
// [Check] judges a [model.History] and returns a [Verdict] with every guarantee
// that was broken, each with a witness of its own. The guarantees are the
// exported [Guarantee] values of guarantees.go.
//
// A rule reports only what no correct server can have done, whatever the faults.
// Where the history cannot tell, the rule is silent, and says so in the comment
// on it. Which rule is where:
//
//   - revision.go: Revision, without which there is no order to judge by
//   - register.go, claims.go, deletions.go: Linearizable and Preconditions, by porcupine
//   - picture.go: porcupine's own picture of the same
//   - gets.go: single reads that name a resourceVersion
//   - lists.go, pages.go: Exact-state, Most-recent, Not-older-than, Exact, Any, Paged
//   - refusals.go, unrefused.go: Expired and TooLarge, for what was refused and for what was not
//   - block.go, unmarked.go: Initial and InitialEnd
//   - stream.go: Ordered, Unique, Reliable, Typed, Faithful, Scoped, Bookmarked, LastError
//   - closed.go: Closed
//   - resume.go: Resumable
//   - monotonic.go: Monotonic, and the phenomenon TimeTravel
//   - liveness.go: Delivered and Converged
//   - evidence.go: what the streams of one server witness together
//   - refreshed.go, unblocked.go: Refreshed and Unblocked
//   - census.go: Shared and Released
//   - isolated.go: Isolated
//   - relists.go: what is counted of clients that begin anew
//   - selection.go: what a scope and selector are owed, shared by the streams that ask for it
//   - search.go: streams again, by porcupine along the state machine of the model
//   - bounds.go: what clients' calls and returns say of etcd's revision over time
//
// The checks are linear in practice: a resourceVersion orders everything, so most
// of them sort and scan. Only the order of operations on one object, where real
// time and unknown outcomes decide, is left to search.
//
// Streams of small histories are judged twice: by the linear rules, and by a
// search that follows the specification itself. A disagreement is a mistake in
// one of the two, and makes the verdict inconclusive.
package linearizability
