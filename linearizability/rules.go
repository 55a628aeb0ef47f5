package linearizability

import "slices"

// Guarantees are all of them, causes first: where one is broken, later ones often are as
// well. Verdicts list violations in this order, and a failure is named after the first.
var Guarantees = []*Guarantee{
	Linearizable, Revision, Preconditions,
	Isolated, Ordered, Unique, Reliable, Typed, Faithful, Scoped, Initial, InitialEnd, Bookmarked, Expired,
	TooLarge, LastError, Closed,
	ExactState, MostRecent, NotOlderThan, Exact, Any, Paged,
	Resumable, Notified, Monotonic, TimeTravel,
	Unblocked, Shared, Released, Refreshed, Delivered, Converged,
	InternalError, ErrorRV, ReadStatus,
	Answered, Prompt,
}

// Rank returns the position among the guarantees of the one with a name. A name that the
// oracle does not know comes last.
func Rank(guarantee string) int {
	if i := slices.IndexFunc(Guarantees, func(g *Guarantee) bool { return g.Name == guarantee }); i >= 0 {
		return i
	}
	return len(Guarantees)
}

// passes go through the facts, one after the other, and report each violation under the most
// specific guarantee that it breaks. Guarantees that differ only in that share one. No
// pass sees the findings of another.
var passes = []func(*facts, *findings){
	judgeWrites,        // claims.go, deletions.go, register.go
	judgeMutations,     // isolated.go
	judgeStreams,       // stream.go, block.go, unmarked.go, liveness.go
	judgeAnswers,       // refusals.go, unrefused.go
	judgeEnds,          // closed.go
	judgeReads,         // gets.go, lists.go, pages.go
	judgeResumptions,   // resume.go
	judgeNotifications, // notified.go
	judgeViews,         // monotonic.go
	judgeDelays,        // unblocked.go
	judgeSharing,       // census.go
	judgeLeftovers,     // census.go
	judgeBookmarks,     // refreshed.go
	judgeInformers,     // liveness.go
	judgeFailures,      // failures.go
	judgeAnswered,      // answered.go
	judgePrompt,        // prompt.go
	crossCheck,         // search.go: looks for mistakes in the oracle itself, and reports no violation
}
