// Package linearizability answers one question: does a recorded history obey
// the model?
//
// [Check] judges a [model.History] and returns a [Verdict] with every guarantee
// that was broken, each with a witness of its own. The guarantees are the
// exported [Guarantee] values of guarantees.go.
//
// A rule reports only what no correct server can have done, whatever the faults.
// Where the history cannot tell, the rule is silent, and says so in the comment
// on it.
//
//   - rules.go: all rules, with what promises them and what they catch; start here
//   - check.go: [Check], which works out the facts and walks the table of rules
//   - facts.go: what rules judge by: the store, what is known of etcd's revision over
//     time (bounds.go), which change each write made (claims.go, deletions.go), what
//     each stream was owed and got (stream.go, block.go, unmarked.go, selection.go),
//     what the streams of one server witness together (evidence.go), and what its cache
//     held and when it had two (windows.go)
//   - codes.go, violation.go, render.go: what can be wrong, the values that show it,
//     and the one place that puts them into words; report.go: the same for files
//   - guarantees.go, verdict.go, counts.go: what [Check] returns
//   - register.go: Linearizable and Preconditions, by porcupine, and conflicts that no
//     precondition explains; picture.go: its picture
//   - gets.go, lists.go, pages.go, refusals.go, unrefused.go, closed.go, resume.go,
//     monotonic.go, liveness.go, refreshed.go, unblocked.go, census.go, isolated.go,
//     revision.go: the passes over the facts that find violations
//   - failures.go: what servers answer that is an error; answered.go,
//     prompt.go: what is late while nothing is wrong, which calm.go tells for each
//     client and server
//   - notified.go: what the handlers of informers are told
//   - search.go: streams again, by porcupine along the state machine of the model
//
// The checks are linear in practice: a resourceVersion orders everything, so most
// of them sort and scan. Only the order of operations on one object, where real
// time and unknown outcomes decide, is left to search.
//
// Streams of small histories are judged twice: by the linear rules, and by a
// search that follows the specification itself. A disagreement is a mistake in
// one of the two, and makes the verdict inconclusive.
package linearizability
