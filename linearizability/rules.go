package linearizability

// Rule checks one guarantee. The tables of docs/oracle.md are generated from the rules.
type Rule struct {
	// About is the heading of the table that the rule is in.
	About string
	// Guarantee is what the rule checks. A rule that only observes has a phenomenon
	// instead.
	Guarantee  *Guarantee
	Phenomenon *Phenomenon
	// Source is the document, the KEP or the code that gives the guarantee.
	Source string
	// Catches is what the rule reports.
	Catches string
}

// Name returns the name of the guarantee, or of the phenomenon.
func (r *Rule) Name() string {
	if r.Guarantee != nil {
		return r.Guarantee.Name
	}
	return r.Phenomenon.Name
}

// Rank returns the position among the rules of the guarantee with a name. A name that
// the oracle does not know comes last.
func Rank(guarantee string) int {
	for i := range Rules {
		if Rules[i].Name() == guarantee {
			return i
		}
	}
	return len(Rules)
}

// passes go through the facts, one after the other, and report each violation under the most
// specific guarantee that it breaks. Rules whose guarantees differ only in that share one. No
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

// Rules are all rules, causes first: where one guarantee is broken, later ones often
// are as well. Verdicts list violations in this order, and a failure is named after
// the first.
var Rules = []Rule{
	{"The store", Linearizable, nil,
		"etcd API guarantees (isolation level and consistency of replicas); API concepts (resourceVersion unset)",
		"an acknowledged write that is lost, is at another RV, or took effect twice; a write of unknown outcome that took effect twice; a write whose stored labels or node, or whose returned object, differ from the request; a most-recent get that misses a write which had returned, or any change that was certainly committed before the call; a get that returns a change which cannot have been committed by then; writes to different objects whose RVs contradict real time"},
	{"The store", Revision, nil,
		"etcd API guarantees (durability); etcd's data model (revisions only grow)",
		"an etcd log in which revisions do not increase, or exceed its last revision; a compaction below an earlier one"},
	{"The store", Preconditions, nil,
		"`storage.Interface`, `Create`, `Delete` and `GuaranteedUpdate`; API concepts (resourceVersion in updates)",
		"a write that took effect although its precondition failed, the object already existed, or it returned Conflict; a write that was refused for a reason that never held; a Conflict although no precondition on RV or UID failed"},
	{"One stream", Isolated, nil,
		"cacher `getMutableObject`",
		"a mutation that a consumer made to a delivered object and that is visible to a stream, get, list or informer, or in etcd"},
	{"One stream", Ordered, nil,
		"etcd API guarantees, watch APIs: ordered",
		"an event with a lower RV than an earlier one, except among the initial events"},
	{"One stream", Unique, nil,
		"etcd API guarantees, watch APIs: unique",
		"an event at or below the RV that the stream starts from; a duplicate event; an object twice in the initial events"},
	{"One stream", Reliable, nil,
		"etcd API guarantees, watch APIs: reliable",
		"a matching change that is missing although a later event or bookmark has arrived; each gap is reported, even after another violation"},
	{"One stream", Typed, nil,
		"`watch.EventType`; API concepts (efficient detection of changes); cacher `cacheWatcher.convertToWatchEvent`",
		"MODIFIED for an object that starts or ceases to match, an event for an object that does not match before or after the change, an unknown event type"},
	{"One stream", Faithful, nil,
		"`watch.Event`: the object of DELETED is the state right before it; cacher `cacheWatcher.convertToWatchEvent`",
		"an object that differs from the stored one in value, labels, node or UID; DELETED without the last state that matched, or with another RV than that of the deletion; an event that arrives before its change is committed"},
	{"One stream", Scoped, nil,
		"`storage.Interface`, `Watch`: the key, and whether it is recursive",
		"an object of another namespace or name"},
	{"One stream", Initial, nil,
		"API concepts (semantics for watch, streaming lists)",
		"initial events that lack an object, have one too many, mix revisions, are not all ADDED, or are older than requested"},
	{"One stream", InitialEnd, nil,
		"API concepts (streaming lists): `k8s.io/initial-events-end`",
		"an initial-events-end bookmark that is missing, duplicate, not requested, too early, or at an RV that etcd had not reached"},
	{"One stream", Bookmarked, nil,
		"API concepts (watch bookmarks); etcd API guarantees, watch APIs: bookmarkable",
		"a bookmark that arrives before a change it covers, has a lower RV than an earlier bookmark or event, is ahead of etcd, has no RV, or was not requested"},
	{"One stream", Expired, nil,
		"API concepts (410 Gone responses); cacher `watchCacheHistory.GetIntervalLocked`",
		"410 for a watch from an RV that was certainly available: etcd's current revision, one within the cache's window before and after, or one that another stream shows the cache to have held; 410 for a read at an RV that had not been compacted; a watch served from an RV that the server had already refused with 410, or from before its restart"},
	{"One stream", TooLarge, nil,
		"API concepts (unavailable resource versions); cacher `waitUntilFreshLocked`",
		`"Too large resource version" for an RV that the server had already sent, or for RV 0; a get, list or watch with initial events that is served for an RV which etcd cannot have reached`},
	{"One stream", LastError, nil,
		"`watch.Event`: ERROR carries a status; API concepts (410 Gone responses)",
		"an ERROR event without a status; any event after an ERROR event from a cache"},
	{"One stream", Closed, nil,
		"cacher `terminateAllWatchers`, `cacheWatcher.add` (time budget), `minWatchChanSize`; kube-apiserver's `--min-request-timeout`",
		"a stream that the server or an error ends although too few events were queued for its consumer to be too slow, and another stream or the cache's window shows that the cache kept running, or nothing had happened yet; a connection that is lost without a fault at either end"},
	{"Lists and gets", ExactState, nil,
		"API concepts (semantics for get and list)",
		"a list that lacks an item, has one too many or a duplicate, or has one that is older or newer than at the list's RV"},
	{"Lists and gets", MostRecent, nil,
		"API concepts (semantics for get and list: unset)",
		"a list without an RV, or one that continues after its continue token expired, that is older than a write which had returned, or than a revision that etcd had certainly reached (a client had seen it, a cache held it, or a member had applied it)"},
	{"Lists and gets", NotOlderThan, nil,
		"API concepts (semantics for get and list: `NotOlderThan`)",
		"a list below the requested RV; a get that returns a version which was superseded by that RV, or NotFound although the object existed"},
	{"Lists and gets", Exact, nil,
		"API concepts (semantics for get and list: `Exact`, and a limit with an RV)",
		"a list at another RV than the requested one"},
	{"Lists and gets", Any, nil,
		"API concepts (semantics for get and list: `\"0\"`)",
		"a read of a state that never existed, or did not exist yet"},
	{"Lists and gets", Paged, nil,
		"API concepts (retrieving large results sets in chunks); `storage.Interface`, `GetList`",
		"pages at different RVs, an item lost or duplicated between pages, a page above its limit, a wrong `remainingItemCount`, a missing continue token, or, without a selector, a superfluous one"},
	{"One client, across its streams and reads", Resumable, nil,
		"API concepts (efficient detection of changes); client-go `Reflector`",
		"a watch that resumes above the last RV seen (the report says what was lost), below it (what was repeated), from another client's or selector's stream, a second time, after 410 without a relist, or from an incomplete list; an informer that resumes at an RV which none of its lists and watches ended at"},
	{"One client, across its streams and reads", Notified, nil,
		"client-go `SharedInformer`: notifications for an object are delivered in order; `processDeltas`",
		"a handler that is notified of an add for an object that exists, of an update or delete for one that does not, of an older state than before, or of a later change but not of an earlier one that the watch delivered"},
	{"One client, across its streams and reads", Monotonic, nil,
		"API concepts (resourceVersion semantics); a cache never goes back behind what it has sent, as a relist reads the current state of etcd; client-go's `Reflector.relistResourceVersion`",
		"a list, get or initial events older than what the same server had streamed to the client, or an informer whose read at RV 0 is older than its own state"},
	{"One client, across its streams and reads", nil, TimeTravel,
		"[kubernetes/kubernetes #59848](https://github.com/kubernetes/kubernetes/issues/59848)",
		"a read at RV 0 that is older than what the client had seen from another server, or from etcd; a history that shows it still passes"},
	{"After faults have healed", Unblocked, nil,
		"cacher `time_budget.go`: 100 ms at most, growing by 50 ms a second; bounded at 2 s",
		"an event that reaches a fast consumer late while another consumer of the same server is slow or stalled"},
	{"After faults have healed", Shared, nil,
		"what a watch cache is for: one watch on etcd for a resource",
		"a server with more than one watch on etcd for the resource in two consecutive samples, while several clients watch; a watch that is being replaced shows in one sample only"},
	{"After faults have healed", Released, nil,
		"cacher `Stop`, `forgetWatcher`",
		"streams, cache watchers and surplus watches on etcd after clients have left; goroutines and any watch on etcd after the server has stopped"},
	{"After faults have healed", Refreshed, nil,
		"cacher `defaultBookmarkFrequency`, 60 s, and etcd's progress notifications, about 5.5 s; bounded at 75 s",
		"a stream of a cache, with bookmarks, that receives no event or bookmark at or above a revision which etcd has reached"},
	{"After faults have healed", Delivered, nil,
		"the project's own bound: `Config.DeliveryBound`",
		"a stream with a consumer that keeps reading, and with no events still arriving, that lacks a change when the run ends or the client cancels"},
	{"After faults have healed", Converged, nil,
		"the project's own bound; client-go's informers are eventually consistent",
		"an informer whose store differs from the state in etcd: a missing, deleted or stale object; a lastSyncResourceVersion below that state or ahead of etcd"},
	{"Error responses", InternalError, nil,
		"API conventions (HTTP status codes: 500 is for what must not happen); `apierrors.NewInternalError`",
		"an internal error, or an error that is not a status, in a response or on a stream, unless a fault made lists, decoding or decryption fail at that server"},
	{"Error responses", ErrorRV, nil,
		"`storage.StorageError`, `ResourceVersion`; cacher `Cacher.Get`",
		"a NotFound error of a get at an RV at which the object existed, below the requested RV, or ahead of etcd; one without an RV from an initialised cache"},
	{"Error responses", ReadStatus, nil,
		"`apierrors.NewConflict`, `NewAlreadyExists`; `storage.Interface`: only `Create`, `Delete` and `GuaranteedUpdate` return them",
		"a get, a list or a watch that fails with Conflict or AlreadyExists"},
	{"While nothing is wrong", Answered, nil,
		"the project's own bound: ten messages over a network that takes 200 ms at most for each, below the 3 s of the cacher's `blockTimeout`",
		"a request that takes longer than 2 s, fails, is cut off or is rejected, or a watch that receives its first event later than that; an RV refused as too large although etcd had reached it"},
	{"While nothing is wrong", Prompt, nil,
		"the project's own bound: as for Answered",
		"the event of an acknowledged write that reaches a fast consumer more than 2 s late, or never"},
}
