package linearizability

// Guarantee is one thing that clients may rely on. It is an error: a
// [Violation] wraps the guarantee it breaks, so errors.Is finds it.
type Guarantee struct {
	// Name is what reports and documents call the guarantee.
	Name     string
	sentence string
}

// Error returns the guarantee as a sentence.
func (g *Guarantee) Error() string { return g.sentence }

// What the store guarantees.
var (
	Linearizable = &Guarantee{"Linearizable", "writes and most-recent reads behave as if each took effect at one instant between call and return, and a write whose outcome is unknown took effect once or never"}
	Revision     = &Guarantee{"Revision", "the backend's revision never decreases and its history never changes"}
	// Preconditions covers every write that fails for a reason the store names.
	Preconditions = &Guarantee{"Preconditions", "a write with a failed precondition or a lost race has no effect and says so"}
)

// What a watch guarantees, from its start on.
var (
	Ordered    = &Guarantee{"Ordered", "resourceVersions on a stream strictly increase, apart from the initial block"}
	Unique     = &Guarantee{"Unique", "a stream sends nothing at or below its start, and nothing twice"}
	Reliable   = &Guarantee{"Reliable", "once anything with a resourceVersion has arrived on a stream, every matching change up to it has arrived before"}
	Typed      = &Guarantee{"Typed", "ADDED, MODIFIED and DELETED say that an object entered, stayed in or left the selection, and what never matched is never sent"}
	Faithful   = &Guarantee{"Faithful", "an event carries the object as stored at its resourceVersion, and DELETED the last state that matched"}
	Scoped     = &Guarantee{"Scoped", "a stream sends only objects within the requested scope"}
	Initial    = &Guarantee{"Initial", "the initial block is exactly the matching state at one resourceVersion, fresh enough for what was asked, and holds only ADDED"}
	InitialEnd = &Guarantee{"InitialEnd", "where initial events are asked for with bookmarks, exactly one bookmark marks their end, after all of them"}
	Bookmarked = &Guarantee{"Bookmarked", "a bookmark promises that everything up to its resourceVersion has arrived, and bookmarks never decrease"}
	Expired    = &Guarantee{"Expired", "410 Gone answers a resourceVersion that is no longer held, and no other"}
	TooLarge   = &Guarantee{"TooLarge", "the too-large error answers a resourceVersion that the server has not reached, and no other"}
	LastError  = &Guarantee{"LastError", "an ERROR event carries a status and is the last event of its stream"}
	Isolated   = &Guarantee{"Isolated", "what one consumer does to a delivered object no other consumer or reader ever sees"}
	Closed     = &Guarantee{"Closed", "a stream ends only because it was cancelled, timed out, fell behind its budget or lost its connection, or because its server stopped or reinitialized its cache"}
)

// What one client is guaranteed, across its streams and reads.
var (
	Resumable = &Guarantee{"Resumable", "the streams of a client that resumes at the last resourceVersion it has seen, or lists again after 410 Gone, make one stream: nothing is lost, repeated or taken back"}
	Notified  = &Guarantee{"Notified", "the handler of an informer is told of every change that the informer's streams show, and of each object in order: added, updated, deleted"}
	Monotonic = &Guarantee{"Monotonic", "a client never sees the state of one server go back in time"}
)

// What lists and gets guarantee.
var (
	ExactState   = &Guarantee{"Exact-state", "a list is exactly the matching state at the resourceVersion it returns, each item at its own"}
	MostRecent   = &Guarantee{"Most-recent", "a list without a resourceVersion is not older than any write that returned before it was called"}
	NotOlderThan = &Guarantee{"Not-older-than", "a read that names a resourceVersion is at least as new as it"}
	Exact        = &Guarantee{"Exact", "a list that asks for exactly one resourceVersion is at that one"}
	Any          = &Guarantee{"Any", "a read at resourceVersion 0 returns a state that was real"}
	Paged        = &Guarantee{"Paged", "all pages of a list are at one resourceVersion, lose and double no item, and count the rest right"}
)

// What is guaranteed of the time after faults have healed.
var (
	Delivered = &Guarantee{"Delivered", "once faults have healed, every open stream has everything up to the last change within a bounded time"}
	Converged = &Guarantee{"Converged", "once faults have healed, every informer's store equals the truth within a bounded time"}
	Refreshed = &Guarantee{"Refreshed", "once faults have healed, a stream with bookmarks learns of etcd's progress within the promised period, idle or not"}
	Unblocked = &Guarantee{"Unblocked", "one slow or stalled consumer delays nobody else beyond the promised budget"}
	Released  = &Guarantee{"Released", "after clients leave no watch of theirs is left, and after the server has stopped no goroutine and no watch on etcd"}
	Shared    = &Guarantee{"Shared", "the number of watches on etcd does not grow with the number of client watches"}
)

// What an answer guarantees.
var (
	InternalError = &Guarantee{"InternalError", "a server answers with an internal error only while a fault keeps it from reading what is stored"}
	ReadStatus    = &Guarantee{"ReadStatus", "a read or a watch never fails with a status that only writes have"}
	ErrorRV       = &Guarantee{"ErrorRV", "the storage's error for an object that is not there names a resourceVersion at which it was not, and which is as new as what was asked for"}
)

// What is guaranteed while nothing is wrong.
var (
	Answered = &Guarantee{"Answered", "while nothing is wrong, each request is answered within a bounded time, and neither fails nor is turned away"}
	Prompt   = &Guarantee{"Prompt", "while nothing is wrong, an event reaches each client that reads at once within a bounded time of its write"}
)

// Phenomenon is what clients may see although they might not expect it. It
// breaks no guarantee, so a history that shows one still passes.
type Phenomenon struct {
	// Name is what reports and documents call the phenomenon.
	Name     string
	sentence string
}

// String returns the phenomenon as a sentence.
func (p *Phenomenon) String() string { return p.sentence }

// TimeTravel is kubernetes/kubernetes #59848. No single server has failed where
// it is seen: resourceVersion 0 asks for any state, and the state was real.
var TimeTravel = &Phenomenon{"TimeTravel", "a client that asks for any state is shown an older one than it has seen from another server, or from etcd itself"}
