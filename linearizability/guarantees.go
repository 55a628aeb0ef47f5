package linearizability

// Guarantee is something that clients may rely on. It is an error: a
// [Violation] wraps the guarantee that it breaks, so errors.Is finds it.
type Guarantee struct {
	// Name is what reports and documents call the guarantee.
	Name     string
	sentence string
}

// Error returns the guarantee as a sentence.
func (g *Guarantee) Error() string { return g.sentence }

// What the store guarantees.
var (
	Linearizable = &Guarantee{"Linearizable", "writes and most-recent reads behave as if each took effect atomically between call and return, and a write whose outcome is unknown takes effect at most once"}
	Revision     = &Guarantee{"Revision", "etcd's revision never decreases, and committed changes never change"}
	// Preconditions covers NotFound, AlreadyExists and Conflict.
	Preconditions = &Guarantee{"Preconditions", "a write that fails a precondition or loses a race has no effect and returns an error"}
)

// What a watch guarantees.
var (
	Ordered    = &Guarantee{"Ordered", "the resourceVersions of the events of a stream strictly increase, except among the initial events"}
	Unique     = &Guarantee{"Unique", "a stream sends no event at or below the resourceVersion that it starts from, and none twice"}
	Reliable   = &Guarantee{"Reliable", "a stream has no gaps: an event or bookmark arrives only after every matching change with a lower resourceVersion"}
	Typed      = &Guarantee{"Typed", "ADDED, MODIFIED and DELETED say that an object starts to match, still matches or no longer matches, and changes to other objects are not sent"}
	Faithful   = &Guarantee{"Faithful", "an event carries the object as stored at its resourceVersion; DELETED carries the last state that matched"}
	Scoped     = &Guarantee{"Scoped", "a stream sends only objects of the requested namespace and name"}
	Initial    = &Guarantee{"Initial", "the initial events are all ADDED, and are exactly the matching state at one resourceVersion, which is as new as requested"}
	InitialEnd = &Guarantee{"InitialEnd", "if a client requests initial events and bookmarks, exactly one bookmark marks the end of the initial events, after the last of them"}
	Bookmarked = &Guarantee{"Bookmarked", "a bookmark arrives only after every matching change up to its resourceVersion, and bookmarks never decrease"}
	Expired    = &Guarantee{"Expired", "410 Gone is returned for a resourceVersion that is no longer available, and for no other"}
	TooLarge   = &Guarantee{"TooLarge", "'Too large resource version' is returned for a resourceVersion that the server has not reached, and for no other"}
	LastError  = &Guarantee{"LastError", "an ERROR event carries a status and is the last event of its stream"}
	Isolated   = &Guarantee{"Isolated", "if a consumer mutates a delivered object, no other consumer or reader sees the mutation"}
	Closed     = &Guarantee{"Closed", "a stream ends only if it is cancelled, times out, falls too far behind or loses its connection, or if its server stops or reinitialises its cache"}
)

// What one client is guaranteed, across its streams and reads.
var (
	Resumable = &Guarantee{"Resumable", "a client that resumes at the last resourceVersion it has seen, or relists after 410 Gone, observes one continuous stream: nothing is lost or repeated, and nothing goes back in time"}
	Notified  = &Guarantee{"Notified", "the handler of an informer is notified of every change that the informer's watches deliver, for each object in order: add, update, delete"}
	Monotonic = &Guarantee{"Monotonic", "a client never sees the state of one server go back in time"}
)

// What lists and gets guarantee.
var (
	ExactState   = &Guarantee{"Exact-state", "a list is exactly the matching state at the resourceVersion that it returns"}
	MostRecent   = &Guarantee{"Most-recent", "a list without a resourceVersion includes every change that was committed before it was called"}
	NotOlderThan = &Guarantee{"Not-older-than", "a read with a resourceVersion is at least as new as that resourceVersion"}
	Exact        = &Guarantee{"Exact", "a list that requires an exact resourceVersion is at that resourceVersion"}
	Any          = &Guarantee{"Any", "a read at resourceVersion 0 returns a state that etcd has had"}
	Paged        = &Guarantee{"Paged", "all pages of a list are at one resourceVersion, neither lose nor repeat an item, and report the remaining items correctly"}
)

// What is guaranteed after faults have healed.
var (
	Delivered = &Guarantee{"Delivered", "after faults have healed, every open stream delivers every matching change within a bounded time"}
	Converged = &Guarantee{"Converged", "after faults have healed, every informer's store converges to the state in etcd within a bounded time"}
	Refreshed = &Guarantee{"Refreshed", "after faults have healed, a stream with bookmarks learns of etcd's progress within a bounded time, even if it is idle"}
	Unblocked = &Guarantee{"Unblocked", "a slow or stalled consumer does not delay other consumers beyond a bounded time"}
	Released  = &Guarantee{"Released", "a server keeps no watches of clients that have left, and after it has stopped no goroutines and no watches on etcd"}
	Shared    = &Guarantee{"Shared", "the number of watches on etcd does not grow with the number of client watches"}
)

// What responses guarantee.
var (
	InternalError = &Guarantee{"InternalError", "a server returns an internal error only while a fault keeps it from reading stored data"}
	ReadStatus    = &Guarantee{"ReadStatus", "a read or a watch never fails with Conflict or AlreadyExists, which are for writes"}
	ErrorRV       = &Guarantee{"ErrorRV", "the storage's NotFound error names a resourceVersion at which the object did not exist, and which is as new as requested"}
)

// What is guaranteed while nothing is wrong.
var (
	Answered = &Guarantee{"Answered", "while nothing is wrong, each request is answered within a bounded time, and neither fails nor is rejected"}
	Prompt   = &Guarantee{"Prompt", "while nothing is wrong, an event reaches each fast consumer within a bounded time of its write"}
)

// Phenomenon is behaviour that clients may not expect, but that breaks no guarantee. A
// history that shows one still passes.
type Phenomenon struct {
	// Name is what reports and documents call the phenomenon.
	Name     string
	sentence string
}

// String returns the phenomenon as a sentence.
func (p *Phenomenon) String() string { return p.sentence }

// TimeTravel is kubernetes/kubernetes #59848. It is no failure of any one server:
// resourceVersion 0 asks for any state, and etcd has had that state.
var TimeTravel = &Phenomenon{"TimeTravel", "a read at resourceVersion 0 returns an older state than the client has seen from another server, or from etcd itself"}
