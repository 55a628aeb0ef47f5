package linearizability

// Guarantee is something that clients may rely on, and that the oracle checks. It is an
// error: a [Violation] wraps the guarantee that it breaks, so errors.Is finds it.
type Guarantee struct {
	// Name is what reports and documents call the guarantee.
	Name     string
	sentence string
	// Source is the document, the KEP or the code that gives the guarantee, and Catches what
	// is reported. The tables of docs/oracle.md are made of them.
	Source, Catches string
}

// Error returns the guarantee as a sentence.
func (g *Guarantee) Error() string { return g.sentence }

// Observed reports whether it is no guarantee, but behaviour that clients may not expect. A
// history that shows it still passes.
func (g *Guarantee) Observed() bool { return g == TimeTravel }

// What the store guarantees.
var (
	Linearizable = &Guarantee{"Linearizable", "writes and most-recent reads behave as if each took effect atomically between call and return, and a write whose outcome is unknown takes effect at most once",
		"etcd API guarantees (isolation level and consistency of replicas); API concepts (resourceVersion unset)",
		"an acknowledged write that is lost, is at another RV, or took effect twice; a write of unknown outcome that took effect twice; a write whose stored labels or node, or whose returned object, differ from the request; a most-recent get that misses a write which had returned, or any change that was certainly committed before the call; a get that returns a change which cannot have been committed by then; writes to different objects whose RVs contradict real time"}
	Revision = &Guarantee{"Revision", "etcd's revision never decreases, and committed changes never change",
		"etcd API guarantees (durability); etcd's data model (revisions only grow)",
		"an etcd log in which revisions do not increase, or exceed its last revision; a compaction below an earlier one"}
	// Preconditions covers NotFound, AlreadyExists and Conflict.
	Preconditions = &Guarantee{"Preconditions", "a write that fails a precondition or loses a race has no effect and returns an error",
		"`storage.Interface`, `Create`, `Delete` and `GuaranteedUpdate`; API concepts (resourceVersion in updates)",
		"a write that took effect although its precondition failed, the object already existed, or it returned Conflict; a write that was refused for a reason that never held; a Conflict although no precondition on RV or UID failed"}
)

// What a watch guarantees.
var (
	Ordered = &Guarantee{"Ordered", "the resourceVersions of the events of a stream strictly increase, except among the initial events, and those of objects whose lease has expired",
		"etcd API guarantees, watch APIs: ordered",
		"an event with a lower RV than an earlier one, except among the initial events"}
	Unique = &Guarantee{"Unique", "a stream sends no event at or below the resourceVersion that it starts from, and none twice",
		"etcd API guarantees, watch APIs: unique",
		"an event at or below the RV that the stream starts from; a duplicate event; an object twice in the initial events"}
	Reliable = &Guarantee{"Reliable", "a stream has no gaps: an event or bookmark arrives only after every matching change with a lower resourceVersion",
		"etcd API guarantees, watch APIs: reliable",
		"a matching change that is missing although a later event or bookmark has arrived; each gap is reported, even after another violation"}
	Typed = &Guarantee{"Typed", "ADDED, MODIFIED and DELETED say that an object starts to match, still matches or no longer matches, and changes to other objects are not sent",
		"`watch.EventType`; API concepts (efficient detection of changes); cacher `cacheWatcher.convertToWatchEvent`",
		"MODIFIED for an object that starts or ceases to match, an event for an object that does not match before or after the change, an unknown event type"}
	Faithful = &Guarantee{"Faithful", "an event carries the object as stored at its resourceVersion; DELETED carries the last state that matched",
		"`watch.Event`: the object of DELETED is the state right before it; cacher `cacheWatcher.convertToWatchEvent`",
		"an object that differs from the stored one in value, labels, node or UID; DELETED without the last state that matched, or with another RV than that of the deletion; an event that arrives before its change is committed"}
	Scoped = &Guarantee{"Scoped", "a stream sends only objects of the requested namespace and name",
		"`storage.Interface`, `Watch`: the key, and whether it is recursive",
		"an object of another namespace or name"}
	Initial = &Guarantee{"Initial", "the initial events are all ADDED, and are exactly the matching state at one resourceVersion, which is as new as requested",
		"API concepts (semantics for watch, streaming lists)",
		"initial events that lack an object, have one too many, mix revisions, are not all ADDED, or are older than requested"}
	InitialEnd = &Guarantee{"InitialEnd", "if a client requests initial events and bookmarks, exactly one bookmark marks the end of the initial events, after the last of them",
		"API concepts (streaming lists): `k8s.io/initial-events-end`",
		"an initial-events-end bookmark that is missing, duplicate, not requested, too early, or at an RV that etcd had not reached"}
	Bookmarked = &Guarantee{"Bookmarked", "a bookmark arrives only after every matching change up to its resourceVersion, and bookmarks never decrease",
		"API concepts (watch bookmarks); etcd API guarantees, watch APIs: bookmarkable",
		"a bookmark that arrives before a change it covers, has a lower RV than an earlier bookmark or event, is ahead of etcd, has no RV, or was not requested"}
	Expired = &Guarantee{"Expired", "410 Gone is returned for a resourceVersion that is no longer available, and for no other",
		"API concepts (410 Gone responses); cacher `watchCacheHistory.GetIntervalLocked`",
		"410 for a watch from an RV that was certainly available: etcd's current revision, one within the cache's window before and after, or one that another stream shows the cache to have held; 410 for a read at an RV that had not been compacted; a watch served from an RV that the server had already refused with 410, or from before its restart"}
	TooLarge = &Guarantee{"TooLarge", "'Too large resource version' is returned for a resourceVersion that the server has not reached, and for no other",
		"API concepts (unavailable resource versions); cacher `waitUntilFreshLocked`",
		`"Too large resource version" for an RV that the server had already sent, or for RV 0; a get, list or watch with initial events that is served for an RV which etcd cannot have reached`}
	LastError = &Guarantee{"LastError", "an ERROR event carries a status and is the last event of its stream",
		"`watch.Event`: ERROR carries a status; API concepts (410 Gone responses)",
		"an ERROR event without a status; any event after an ERROR event from a cache"}
	Isolated = &Guarantee{"Isolated", "if a consumer mutates a delivered object, no other consumer or reader sees the mutation",
		"cacher `getMutableObject`",
		"a mutation that a consumer made to a delivered object and that is visible to a stream, get, list or informer, or in etcd"}
	Closed = &Guarantee{"Closed", "a stream ends only if it is cancelled, times out, falls too far behind or loses its connection, or if its server stops or reinitialises its cache",
		"cacher `terminateAllWatchers`, `cacheWatcher.add` (time budget), `minWatchChanSize`; kube-apiserver's `--min-request-timeout`",
		"a stream that the server or an error ends although too few events were queued for its consumer to be too slow, and another stream or the cache's window shows that the cache kept running, or nothing had happened yet; a connection that is lost without a fault at either end"}
)

// What one client is guaranteed, across its streams and reads.
var (
	Resumable = &Guarantee{"Resumable", "a client that resumes at the last resourceVersion it has seen, or relists after 410 Gone, observes one continuous stream: nothing is lost or repeated, and nothing goes back in time",
		"API concepts (efficient detection of changes); client-go `Reflector`",
		"a watch that resumes above the last RV seen (the report says what was lost), below it (what was repeated), from another client's or selector's stream, a second time, after 410 without a relist, or from an incomplete list; an informer that resumes at an RV which none of its lists and watches ended at"}
	Notified = &Guarantee{"Notified", "the handler of an informer is notified of every change that the informer's watches deliver, for each object in order: add, update, delete",
		"client-go `SharedInformer`: notifications for an object are delivered in order; `processDeltas`",
		"a handler that is notified of an add for an object that exists, of an update or delete for one that does not, of an older state than before, or of a later change but not of an earlier one that the watch delivered"}
	Monotonic = &Guarantee{"Monotonic", "a client never sees the state of one server go back in time",
		"API concepts (resourceVersion semantics); a cache never goes back behind what it has sent, as a relist reads the current state of etcd; client-go's `Reflector.relistResourceVersion`",
		"a list, get or initial events older than what the same server had streamed to the client, or an informer whose read at RV 0 is older than its own state"}
)

// What lists and gets guarantee.
var (
	ExactState = &Guarantee{"Exact-state", "a list is exactly the matching state at the resourceVersion that it returns",
		"API concepts (semantics for get and list)",
		"a list that lacks an item, has one too many or a duplicate, or has one that is older or newer than at the list's RV"}
	MostRecent = &Guarantee{"Most-recent", "a list without a resourceVersion includes every change that was committed before it was called",
		"API concepts (semantics for get and list: unset)",
		"a list without an RV, or one that continues after its continue token expired, that is older than a write which had returned, or than a revision that etcd had certainly reached (a client had seen it, a cache held it, or a member had applied it)"}
	NotOlderThan = &Guarantee{"Not-older-than", "a read with a resourceVersion is at least as new as that resourceVersion",
		"API concepts (semantics for get and list: `NotOlderThan`)",
		"a list below the requested RV; a get that returns a version which was superseded by that RV, or NotFound although the object existed"}
	Exact = &Guarantee{"Exact", "a list that requires an exact resourceVersion is at that resourceVersion",
		"API concepts (semantics for get and list: `Exact`, and a limit with an RV)",
		"a list at another RV than the requested one"}
	Any = &Guarantee{"Any", "a read at resourceVersion 0 returns a state that etcd has had",
		"API concepts (semantics for get and list: `\"0\"`)",
		"a read of a state that never existed, or did not exist yet"}
	Paged = &Guarantee{"Paged", "all pages of a list are at one resourceVersion, neither lose nor repeat an item, and report the remaining items correctly",
		"API concepts (retrieving large results sets in chunks); `storage.Interface`, `GetList`",
		"pages at different RVs, an item lost or duplicated between pages, a page above its limit, a wrong `remainingItemCount`, a missing continue token, or, without a selector, a superfluous one"}
)

// What is guaranteed after faults have healed.
var (
	Delivered = &Guarantee{"Delivered", "after faults have healed, every open stream delivers every matching change within a bounded time",
		"the project's own bound: `Config.DeliveryBound`",
		"a stream with a consumer that keeps reading, and with no events still arriving, that lacks a change when the run ends or the client cancels"}
	Converged = &Guarantee{"Converged", "after faults have healed, every informer's store converges to the state in etcd within a bounded time",
		"the project's own bound; client-go's informers are eventually consistent",
		"an informer whose store differs from the state in etcd: a missing, deleted or stale object; a lastSyncResourceVersion below that state or ahead of etcd"}
	Refreshed = &Guarantee{"Refreshed", "after faults have healed, a stream with bookmarks learns of etcd's progress within a bounded time, even if it is idle",
		"cacher `defaultBookmarkFrequency`, 60 s, and etcd's progress notifications, about 5.5 s; bounded at 75 s",
		"a stream of a cache, with bookmarks, that receives no event or bookmark at or above a revision which etcd has reached"}
	Unblocked = &Guarantee{"Unblocked", "a slow or stalled consumer does not delay other consumers beyond a bounded time",
		"cacher `time_budget.go`: 100 ms at most, growing by 50 ms a second; bounded at 2 s",
		"an event that reaches a fast consumer late while another consumer of the same server is slow or stalled"}
	Released = &Guarantee{"Released", "a server keeps no watches of clients that have left, and after it has stopped no goroutines and no watches on etcd",
		"cacher `Stop`, `forgetWatcher`",
		"streams, cache watchers and surplus watches on etcd after clients have left; goroutines and any watch on etcd after the server has stopped"}
	Shared = &Guarantee{"Shared", "the number of watches on etcd does not grow with the number of client watches",
		"what a watch cache is for: one watch on etcd for a resource",
		"a server with more than one watch on etcd for the resource in two consecutive samples, while several clients watch; a watch that is being replaced shows in one sample only"}
)

// What responses guarantee.
var (
	InternalError = &Guarantee{"InternalError", "a server returns an internal error only while a fault keeps it from reading stored data",
		"API conventions (HTTP status codes: 500 is for what must not happen); `apierrors.NewInternalError`",
		"an internal error, or an error that is not a status, in a response or on a stream, unless a fault made lists, decoding or decryption fail at that server"}
	ReadStatus = &Guarantee{"ReadStatus", "a read or a watch never fails with Conflict or AlreadyExists, which are for writes",
		"`apierrors.NewConflict`, `NewAlreadyExists`; `storage.Interface`: only `Create`, `Delete` and `GuaranteedUpdate` return them",
		"a get, a list or a watch that fails with Conflict or AlreadyExists"}
	ErrorRV = &Guarantee{"ErrorRV", "the storage's NotFound error names a resourceVersion at which the object did not exist, and which is as new as requested",
		"`storage.StorageError`, `ResourceVersion`; cacher `Cacher.Get`",
		"a NotFound error of a get at an RV at which the object existed, below the requested RV, or ahead of etcd; one without an RV from an initialised cache"}
)

// What is guaranteed while nothing is wrong.
var (
	Answered = &Guarantee{"Answered", "while nothing is wrong, each request is answered within a bounded time, and neither fails nor is rejected",
		"the project's own bound: ten messages over a network that takes 200 ms at most for each, below the 3 s of the cacher's `blockTimeout`",
		"a request that takes longer than 2 s, fails, is cut off or is rejected, or a watch that receives its first event later than that; an RV refused as too large although etcd had reached it"}
	Prompt = &Guarantee{"Prompt", "while nothing is wrong, an event reaches each fast consumer within a bounded time of its write",
		"the project's own bound: as for Answered",
		"the event of an acknowledged write that reaches a fast consumer more than 2 s late, or never"}
)

// TimeTravel is no guarantee, but observed: kubernetes/kubernetes #59848. It is no failure of any one server:
// resourceVersion 0 asks for any state, and etcd has had that state.
var TimeTravel = &Guarantee{"TimeTravel", "a read at resourceVersion 0 returns an older state than the client has seen from another server, or from etcd itself",
	"[kubernetes/kubernetes #59848](https://github.com/kubernetes/kubernetes/issues/59848)",
	"a read at RV 0 that is older than what the client had seen from another server, or from etcd; a history that shows it still passes"}
