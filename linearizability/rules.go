package linearizability

// Rule is what holds one guarantee. The table of docs/oracle.md is made of the rules.
type Rule struct {
	// About is what the guarantee is about: the heading of its table.
	About string
	// Guarantee is what a violation of the rule breaks. A rule that only observes has
	// a phenomenon instead.
	Guarantee  *Guarantee
	Phenomenon *Phenomenon
	// pass finds the violations.
	pass *pass
	// Source is the document, the KEP or the code that promises it.
	Source string
	// Catches is what the rule reports.
	Catches string
}

// Name is that of the guarantee, or of the phenomenon.
func (r *Rule) Name() string {
	if r.Guarantee != nil {
		return r.Guarantee.Name
	}
	return r.Phenomenon.Name
}

// Rank is the place of a guarantee among the rules, by its name. Those that the
// oracle does not know come last.
func Rank(guarantee string) int {
	for i := range Rules {
		if Rules[i].Name() == guarantee {
			return i
		}
	}
	return len(Rules)
}

// pass goes through the facts once and reports what it finds, each observation under
// the most specific guarantee that it breaks. Rules whose guarantees differ only in
// that share one. No pass sees what another has found.
type pass struct{ judge func(*facts, *findings) }

var (
	revisions     = &pass{judgeRevisions}     // revision.go
	writes        = &pass{judgeWrites}        // claims.go, deletions.go, register.go
	streams       = &pass{judgeStreams}       // stream.go, block.go, unmarked.go, liveness.go
	answers       = &pass{judgeAnswers}       // refusals.go, unrefused.go
	mutations     = &pass{judgeMutations}     // isolated.go
	ends          = &pass{judgeEnds}          // closed.go
	reads         = &pass{judgeReads}         // gets.go, lists.go, pages.go
	resumptions   = &pass{judgeResumptions}   // resume.go
	views         = &pass{judgeViews}         // monotonic.go
	delays        = &pass{judgeDelays}        // unblocked.go
	sharing       = &pass{judgeSharing}       // census.go
	leaks         = &pass{judgeLeftovers}     // census.go
	bookmarks     = &pass{judgeBookmarks}     // refreshed.go
	informers     = &pass{judgeInformers}     // liveness.go
	failures      = &pass{judgeFailures}      // failures.go
	notifications = &pass{judgeNotifications} // notified.go
	responses     = &pass{judgeAnswered}      // answered.go
	deliveries    = &pass{judgePrompt}        // prompt.go
	// crossChecks look for mistakes of the oracle itself, and break no guarantee.
	crossChecks = &pass{crossCheck} // search.go
)

// Rules are all rules, causes first: where one guarantee is broken, those that come
// after it often are as well. Verdicts list violations in this order, and the first
// of them gives a failure its name.
var Rules = []Rule{
	{"The store", Linearizable, nil, writes,
		"etcd API guarantees (isolation level and consistency of replicas); API concepts (resourceVersion unset)",
		"a write that was acknowledged and is lost, is at another RV, or took effect twice; one whose labels or node are stored, or whose object is answered, otherwise than they were written; one of unknown outcome that took effect twice; a most-recent get that misses a write which had returned, or a change, whoever made it, that etcd had certainly reached by the call; one that shows a change which it cannot have reached by the answer; writes to different objects against real time"},
	{"The store", Revision, nil, revisions,
		"etcd API guarantees (durability); etcd's data model (revisions only grow)",
		"a log of etcd in which revisions do not increase, or lie beyond its end; a compaction that goes back"},
	{"The store", Preconditions, nil, writes,
		"`storage.Interface`, `Create`, `Delete` and `GuaranteedUpdate`; API concepts (resourceVersion in updates)",
		"a write that took effect although its precondition failed, the object was there, or it was told to have lost a race; a refusal for a reason that never held; a conflict without a precondition by RV or UID that failed"},
	{"One stream", Isolated, nil, mutations,
		"cacher `getMutableObject`",
		"a consumer's mark on what it had received, seen by any stream, get, list or informer, or in etcd"},
	{"One stream", Ordered, nil, streams,
		"etcd API guarantees, watch APIs: ordered",
		"an event below one that had come before it, apart from the initial block"},
	{"One stream", Unique, nil, streams,
		"etcd API guarantees, watch APIs: unique",
		"an event at or below the stream's start, or one that comes twice; an object twice in an initial block"},
	{"One stream", Reliable, nil, streams,
		"etcd API guarantees, watch APIs: reliable",
		"a matching change that is missing although a later one has come, or a bookmark beyond it; each gap is reported, also behind another flaw"},
	{"One stream", Typed, nil, streams,
		"`watch.EventType`; API concepts (efficient detection of changes); cacher `cacheWatcher.convertToWatchEvent`",
		"MODIFIED for what entered or left the selection, an event for what never matched, a type that does not exist"},
	{"One stream", Faithful, nil, streams,
		"`watch.Event`: the object of DELETED is the state right before it; cacher `cacheWatcher.convertToWatchEvent`",
		"an object that is not the stored one in value, labels, node or UID; DELETED without the last state that matched, or at another RV than that of the deletion; an event of a change that had not been committed by then"},
	{"One stream", Scoped, nil, streams,
		"`storage.Interface`, `Watch`: the key, and whether it is recursive",
		"an object of another namespace or name"},
	{"One stream", Initial, nil, streams,
		"API concepts (semantics for watch, streaming lists)",
		"a block that lacks an object, has one too many, mixes revisions, holds anything but ADDED, or is older than was asked for"},
	{"One stream", InitialEnd, nil, streams,
		"API concepts (streaming lists): `k8s.io/initial-events-end`",
		"a mark that is missing, comes twice, unasked for, too early, or names an RV that etcd had not reached"},
	{"One stream", Bookmarked, nil, streams,
		"API concepts (watch bookmarks); etcd API guarantees, watch APIs: bookmarkable",
		"a bookmark before something it promises, below a bookmark or event that had come, beyond etcd, without an RV, or unasked for"},
	{"One stream", Expired, nil, answers,
		"API concepts (410 Gone responses); cacher `watchCacheHistory.GetIntervalLocked`",
		"410 for an RV that was certainly held: etcd's own revision, what the cache's window held before and after, or what another stream shows the cache to have held; 410 for a read of what had not been compacted; a watch served from an RV that the server had refused with 410, or from before its restart"},
	{"One stream", TooLarge, nil, answers,
		"API concepts (unavailable resource versions); cacher `waitUntilFreshLocked`",
		`"too large resource version" for an RV that the server itself had sent, or where any state was asked for (RV 0); a get, list or initial events answered for an RV that etcd could not have reached`},
	{"One stream", LastError, nil, streams,
		"`watch.Event`: ERROR carries a status; API concepts (410 Gone responses)",
		"an ERROR event without a status, or of a cache with anything after it"},
	{"One stream", Closed, nil, ends,
		"cacher `terminateAllWatchers`, `cacheWatcher.add` (time budget), `minWatchChanSize`; kube-apiserver's `--min-request-timeout`",
		"an end by the server or by an error with too few events waiting to have fallen behind, while another stream or the cache's window shows that the cache went on, or before anything had happened; a connection that was lost with no fault at its ends"},
	{"Lists and gets", ExactState, nil, reads,
		"API concepts (semantics for get and list)",
		"a list that lacks an item, has one too many or twice, or has one that is older or newer than the list's RV"},
	{"Lists and gets", MostRecent, nil, reads,
		"API concepts (semantics for get and list: unset)",
		"a list without an RV that is older than a write which had returned, or than what etcd had certainly reached (anybody had been shown it, a cache held it, a member had applied it), also where it goes on after an expired continuation"},
	{"Lists and gets", NotOlderThan, nil, reads,
		"API concepts (semantics for get and list: `NotOlderThan`)",
		"a list below the RV asked for; a get of an object that had been superseded at that RV, or of nothing where there was something"},
	{"Lists and gets", Exact, nil, reads,
		"API concepts (semantics for get and list: `Exact`, and a limit with an RV)",
		"a list at another RV than the one asked for"},
	{"Lists and gets", Any, nil, reads,
		"API concepts (semantics for get and list: `\"0\"`)",
		"a read of a state that never was, or was not yet there"},
	{"Lists and gets", Paged, nil, reads,
		"API concepts (retrieving large results sets in chunks); `storage.Interface`, `GetList`",
		"pages at two RVs, an item lost or doubled between them, a page above its limit, a wrong `remainingItemCount`, a token too few, or, without a selector, one too many"},
	{"One client, across its streams and reads", Resumable, nil, resumptions,
		"API concepts (efficient detection of changes); client-go `Reflector`",
		"resuming above the last RV seen (the report says what was lost), below it (what came again), elsewhere, twice, after 410 without a list, or from an unfinished list; an informer's RV that nothing explains"},
	{"One client, across its streams and reads", Notified, nil, notifications,
		"client-go `SharedInformer`: notifications for an object are delivered in order; `processDeltas`",
		"a handler that is told of an object's addition twice, of its update or deletion when there is none, of an older state than before, or of a later change but not of one that a stream had shown"},
	{"One client, across its streams and reads", Monotonic, nil, views,
		"API concepts (resourceVersion semantics); no cache goes behind what it has sent, as it lists what etcd has when it lists again; client-go's `Reflector.relistResourceVersion`",
		"an older list, get or block than the same server had streamed to the client, or an informer that asks for any state and is shown an older one than its own"},
	{"One client, across its streams and reads", nil, TimeTravel, views,
		"[kubernetes/kubernetes #59848](https://github.com/kubernetes/kubernetes/issues/59848)",
		"a read at RV 0 that shows less than the client had seen from another server, or from etcd; a history that shows it still passes"},
	{"After faults have healed", Unblocked, nil, delays,
		"cacher `time_budget.go`: 100 ms at most, growing by 50 ms a second; bounded at 2 s",
		"an event that comes late at a fast reader while another consumer of that server does not read"},
	{"After faults have healed", Shared, nil, sharing,
		"what a watch cache is for: one watch on etcd for a resource",
		"more than one watch on etcd of one server for the resource, however many clients watch, in two counts in a row: a watch that is being replaced shows in one"},
	{"After faults have healed", Released, nil, leaks,
		"cacher `Stop`, `forgetWatcher`",
		"after clients have left: streams, cache watchers and surplus watches on etcd; after the server has stopped: goroutines and any watch on etcd"},
	{"After faults have healed", Refreshed, nil, bookmarks,
		"cacher `defaultBookmarkFrequency`, 60 s, and etcd's progress notifications, about 5.5 s; bounded at 75 s",
		"a stream of a cache, with bookmarks, that does not learn of a revision which etcd has reached"},
	{"After faults have healed", Delivered, nil, streams,
		"the project's own bound: `Config.DeliveryBound`",
		"a stream whose consumer reads and that lacks a change when the run ends or the client cancels, and to which nothing was still coming"},
	{"After faults have healed", Converged, nil, informers,
		"the project's own bound; client-go's informers: eventually the store is the state",
		"an informer whose store is not the last state: an object missing, one that is gone, an old one; a lastSyncResourceVersion below that state or beyond etcd"},
	{"Answers that are errors", InternalError, nil, failures,
		"API conventions (HTTP status codes: 500 is for what must not happen); `apierrors.NewInternalError`",
		"an internal error, or an error that is no status at all, as the answer to a request or on a stream, unless a fault made lists, decoding or decryption fail at that server"},
	{"Answers that are errors", ErrorRV, nil, failures,
		"`storage.StorageError`, `ResourceVersion`; cacher `Cacher.Get`",
		"a get that found nothing at an RV at which the object was stored, below the RV asked for, or beyond etcd; one from a cache that had been filled, which names no RV"},
	{"Answers that are errors", ReadStatus, nil, failures,
		"`apierrors.NewConflict`, `NewAlreadyExists`; `storage.Interface`: only `Create`, `Delete` and `GuaranteedUpdate` return them",
		"a get, a list or a watch that is refused as in conflict, or as there already"},
	{"While nothing is wrong", Answered, nil, responses,
		"the project's own bound: ten times over a network that takes 200 ms at most, below the 3 s of the cacher's `blockTimeout`",
		"a request that takes longer than 2 s, fails, is cut off or is turned away, or a watch that gets its first event later than that; an RV refused as too large although etcd had reached it"},
	{"While nothing is wrong", Prompt, nil, deliveries,
		"the project's own bound: as for Answered",
		"the event of an acknowledged write that comes more than 2 s late, or never, at a client that reads at once"},
}
