// Package linearizability answers one question: does a recorded history obey
// the model?
//
// [Check] judges a [model.History] and returns a [Verdict] with every guarantee
// that was broken, each with a witness of its own. The guarantees are the
// exported [Guarantee] values of guarantees.go.
//
// A rule reports only what no correct server can do, whatever the faults. Where the
// history does not decide, the rule reports nothing, and its comment says so.
//
//   - guarantees.go: all guarantees, with their sources and what is reported; start here
//   - rules.go: their order, and the passes that check them
//   - check.go: [Check], which derives the facts and applies the rules
//   - facts.go: what rules judge by: the store, bounds on etcd's revision over time
//     (bounds.go), which change each write made (claims.go, deletions.go), the events
//     that each stream was owed and received (stream.go, block.go, unmarked.go,
//     selection.go), what the streams of a server prove together (evidence.go), and what
//     its cache held and when it was replaced (windows.go)
//   - codes.go, violation.go, render.go: what can be wrong, the values that prove it,
//     and the messages made from them; report.go: the same for files
//   - verdict.go, counts.go: what [Check] returns
//   - register.go: Linearizable and Preconditions, by porcupine, and conflicts that no
//     precondition explains; picture.go: porcupine's visualisation
//   - gets.go, lists.go, pages.go, refusals.go, unrefused.go, closed.go, resume.go,
//     monotonic.go, liveness.go, refreshed.go, unblocked.go, census.go, isolated.go,
//     revision.go: the passes over the facts that find violations
//   - failures.go: error responses; answered.go, prompt.go: responses and events that
//     are late while nothing is wrong; calm.go: when nothing is wrong, by client and
//     server
//   - notified.go: the notifications that handlers of informers receive
//   - search.go: a second check of streams, by porcupine and the model's state machine
//
// The checks take linear time in practice: resourceVersions order everything, so most
// of them sort and scan. Only the order of operations on one object, which depends on
// real time and unknown outcomes, needs a search.
//
// Streams of small histories are checked twice: by the linear rules, and by a
// search over the specification itself. If the two disagree, one of them has a bug,
// and the verdict is inconclusive.
package linearizability
