package linearizability

// Code says what is wrong. Several guarantees may share one: an event that arrives
// before its change is committed breaks Faithful, and a bookmark that does so breaks
// Bookmarked.
type Code struct {
	name string
	// sentence says who missed or received what, detail what proves it. A word in
	// braces is a value of the witness: see render.go. A part in brackets is left
	// out if one of its values is missing.
	sentence, detail string
}

// String returns the code's name, as reports and signatures contain it.
func (c *Code) String() string { return c.name }

// The revisions of etcd.
var (
	revisionBack   = &Code{"revision-back", "etcd committed the change to {key} at {rv2} after one at {rv}", ""}
	revisionBeyond = &Code{"revision-beyond-end", "etcd committed the change to {key} at {rv} but ended at revision {want}", ""}
	compactionBack = &Code{"compaction-back", "etcd accepted a compaction at {rv2} after one at {rv}, with {want} its last revision", ""}
)

// Writes, and reads of the newest state of one object.
var (
	tookEffectTwice     = &Code{"took-effect-twice", "{op} took effect twice, at {rv} and {rv2}", ""}
	failedYetCommitted  = &Code{"failed-yet-committed", "{op} returned {outcome}, but took effect at {rv}", ""}
	neverCommitted      = &Code{"never-committed", "{op} was acknowledged with {outcome}, but etcd never committed it", ""}
	committedElsewhere  = &Code{"committed-elsewhere", "{op} was acknowledged with {outcome}, but etcd committed it at {rv}", ""}
	noSuchDeletion      = &Code{"no-such-deletion", "{op} was acknowledged with {outcome}, but etcd committed no such deletion, or it belongs to another delete", ""}
	surplusDeletion     = &Code{"surplus-deletion", "{op} returned {outcome}, but etcd committed more deletions of the object, the last at {rv}, than the recorded deletes can have made", ""}
	unexplainedDeletion = &Code{"unexplained-deletion", "{op} returned {outcome}, but no other operation can have made the deletion at {rv}", ""}
	againstRealTime     = &Code{"against-real-time", "{op} took effect at {rv}, below {rv2} of {op2}, which had returned before", ""}
	impossibleResult    = &Code{"impossible-result", "{op} returned {outcome}[ after {op2} had written {rv}], which no order of the operations on the object allows", ""}
	storedOtherwise     = &Code{"stored-otherwise", "{op} stored an object at {rv} that differs from the request: {differences}", ""}
	notPatched          = &Code{"not-patched", "{op} returned an object at {rv} without the labels that the request sets: {differences}", ""}
	answeredOtherwise   = &Code{"answered-otherwise", "{op} returned an object that differs from the one it stored at {rv}: {differences}", ""}
	behindEtcd          = &Code{"behind-etcd", "{op} returned {outcome}, although the object had changed at RV {want}, which etcd had reached before the call", ""}
	wroteWithoutObject  = &Code{"wrote-without-object", "{op} took effect at {rv} although the object did not exist", ""}
	wroteOverObject     = &Code{"wrote-over-object", "{op} took effect at {rv} although the object existed at RV {got}", ""}
	conflictForNothing  = &Code{"conflict-for-nothing", "{op} returned {outcome}, but it had no precondition", ""}
	conflictUnexplained = &Code{"conflict-unexplained", "{op} returned {outcome}, but every version of the object that it can have met satisfies its precondition", ""}
	unexplainedVersions = &Code{"unexplained-versions", "the writes to {key}, the first being {op}, cannot have made the versions that etcd committed", ""}
)

// Lists and gets.
var (
	unknownVersion = &Code{"unknown-version", "{op} returned {rv}, at which etcd stored no such object", ""}
	alteredObject  = &Code{"altered-object", "{op} returned an object that was never stored: {differences}", ""}
	superseded     = &Code{"superseded", "{op} returned {rv}, which had been superseded by {rv2}", ""}
	notFound       = &Code{"not-found", "{op} found nothing, but the object written at {rv} was stored from RV {want} on", ""}
	staleRead      = &Code{"stale-read", "{op} is at {rv}, but {op2} had returned {rv2} before", ""}
	unseenRead     = &Code{"behind-what-was-shown", "{op} is at {rv}, but {seen} before", ""}
	stalePage      = &Code{"stale-page", "{op} continues at {rv} after its continue token expired, but {op2} had returned {rv2} before", ""}
	olderThanAsked = &Code{"older-than-asked", "{op} is at {rv}, older than the requested RV {want}", ""}
	notExact       = &Code{"not-exact", "{op} is at {rv} instead of RV {want}", ""}
	futureRead     = &Code{"future-read", "{op} is at {rv}, but etcd was at revision {want} at most by then", ""}
	wrongState     = &Code{"wrong-state", "{op} is not the state at RV {want}: {differences}", ""}
	pagesDiffer    = &Code{"pages-differ", "{op} is at {rv2}, but the pages before it are at {rv}", ""}
	pageTooLong    = &Code{"page-too-long", "{op} returned {got item} and a continue token, with a limit of {want}", ""}
	wrongRemaining = &Code{"wrong-remaining-count", "{op} says that {got item} remain, but {want} do", ""}
	surplusToken   = &Code{"surplus-continue-token", "{op} is empty: the page before it gave a continue token although nothing remained", ""}
	noToken        = &Code{"no-continue-token", "{op} says that {got item} remain, but gave no continue token", ""}
)

// Requests that were refused, or should have been.
var (
	refusedCurrent     = &Code{"refused-current-state", "{subject} was refused with 410 Gone, but requests the current state", ""}
	refusedLatest      = &Code{"refused-latest", "{subject} was refused with 410 Gone, but etcd was at revision {want} at most by then", ""}
	refusedInWindow    = &Code{"refused-in-window", "{subject} was refused with 410 Gone, but its server still held every change since RV {want}", "its cache did not reinitialise from {since} to {time}"}
	refusedHeld        = &Code{"refused-held", "{subject} was refused with 410 Gone, but its server still held every change since RV {want}", "{other} started there earlier and still received {event}, so the cache had not reinitialised, and it holds the last {got change}"}
	refusedUncompacted = &Code{"refused-uncompacted", "{subject} was refused with 410 Gone, but {rv} cannot have been compacted: the last compaction by then was at RV {want}", ""}
	tooLargeUnasked    = &Code{"too-large-unasked", "{subject} was refused with \"Too large resource version\", but requests no particular RV", ""}
	tooLargeReached    = &Code{"too-large-reached", "{subject} was refused with \"Too large resource version\", but its server had sent {evidence}", "it was sent on {other}"}
	servedFuture       = &Code{"served-future", "{subject} was answered[ with {event}], but etcd was at revision {want} at most by then", ""}
	servedRefused      = &Code{"served-refused", "{subject} received {event} instead of 410 Gone", "{other} had been refused with 410 Gone"}
	servedOverRestart  = &Code{"served-over-restart", "{subject} received {event} instead of 410 Gone", "the server had restarted at {time}, when etcd was at revision {want} at least"}
)

// The initial events of a watch.
var (
	bookmarkInBlock = &Code{"bookmark-in-initial-events", "{client} received {event} before the initial events were complete", ""}
	notAdded        = &Code{"not-added", "{client} received {event} among the initial events, which must all be ADDED", ""}
	markEarly       = &Code{"mark-early", "{client} received {event} before {got initial event} had arrived", ""}
	markMissing     = &Code{"mark-missing", "{client} never received the bookmark that marks the end of the initial events", "[{event} came without it]"}
	markNoBookmark  = &Code{"mark-no-bookmark", "{client} received {event}, but only a bookmark can mark the end of the initial events", ""}
	markTwice       = &Code{"mark-twice", "{client} received {event} a second time", ""}
	wrongBlock      = &Code{"wrong-initial-events", "{client} received initial events that are not the state at RV {want}: {differences}", ""}
	oldBlock        = &Code{"old-initial-events", "{client} received initial events at RV {got}, older than requested", "[{op} had returned RV {want} before]"}
	futureBlock     = &Code{"future-initial-events", "{client} received initial events at {rv}, which etcd had not reached", "{event} was the last of them, when etcd was at revision {want} at most"}
	blockUnfinished = &Code{"initial-events-unfinished", "{client} had not received all initial events by {time}, when the stream or the run ended", ""}
)

// The events of a watch.
var (
	missingEvent     = &Code{"missing-event", "{client} {missed}", "{event} arrived at {eventtime}"}
	promisedEvent    = &Code{"promised-event-missing", "{client} never received {owed}", "a bookmark at or above it arrived"}
	undelivered      = &Code{"undelivered", "{client} never received {owed}[ and {more event} after it]", "the stream lasted until {time}"}
	futureEvent      = &Code{"future-event", "{client} received {event} before etcd had reached that revision", "it arrived at {eventtime}, when etcd was at revision {want} at most"}
	withoutRV        = &Code{"without-rv", "{client} received {event}, at which no client can resume", ""}
	unknownType      = &Code{"unknown-type", "{client} received {event}, which is of an unknown type", ""}
	withoutObject    = &Code{"without-object", "{client} received {event} without an object of that RV", ""}
	outOfScope       = &Code{"out-of-scope", "{client} received {event}, which is outside the requested scope", ""}
	belowStart       = &Code{"below-start", "{client} received {event}, at or below RV {want}, where the stream started", ""}
	repeatedEvent    = &Code{"repeated-event", "{client} received {event} twice", "it arrived at {evidencetime} and at {eventtime}"}
	outOfOrder       = &Code{"out-of-order", "{client} received {event} after RV {want}", ""}
	wrongObject      = &Code{"wrong-object", "{client} received {event} instead of {owed}", ""}
	wrongType        = &Code{"wrong-type", "{client} received {event} instead of {owed}", ""}
	wrongDeletion    = &Code{"deleted-at-another-rv", "{client} received {event} instead of {owed}: DELETED must carry the RV of the deletion", ""}
	wrongContent     = &Code{"wrong-content", "{client} received {event} with the wrong content: {differences}", ""}
	neverMatched     = &Code{"never-matched", "{client} received {event}, but the object did not match before or after that change", ""}
	noSuchChange     = &Code{"no-such-change", "{client} received {event}, but etcd committed no such change to that object", ""}
	unasked          = &Code{"unasked", "{client} received {event}, which it had not requested", ""}
	earlyBookmark    = &Code{"early-bookmark", "{client} received {event} before {owed}[ and {more event} after it], which the bookmark covers", ""}
	afterError       = &Code{"after-error", "{client} received {event} after {evidence}", ""}
	withoutStatus    = &Code{"without-status", "{client} received an ERROR event that carries no status", ""}
	endedAlone       = &Code{"ended-alone", "{server} ended {client}'s watch (stream {stream}) at {time} for no reason", "{got event} at most can have been waiting for its consumer, less than the {want} that a server holds back, and {other} went on and got {event}, so the server neither stopped nor reinitialised its cache"}
	endedBesideCache = &Code{"ended-beside-the-cache", "{server} ended {client}'s watch (stream {stream}) at {time} for no reason", "{got event} at most can have been waiting for its consumer, less than the {want} that a server holds back, and the server neither stopped nor reinitialised its cache since {since}"}
	endedCauseless   = &Code{"ended-without-cause", "{server} ended {client}'s watch (stream {stream}) at {time} for no reason", "{got event} at most can have been waiting for its consumer, less than the {want} that a server holds back, and nothing had happened by then that makes a server stop or reinitialise its cache"}
	connectionLost   = &Code{"connection-lost", "{client} lost its connection to {server} at {time}, but nothing had happened to either end of it or in between", ""}
)

// One client, across its streams and reads.
var (
	resumedNowhere    = &Code{"resumed-nowhere", "{client} resumed at {rv}, but none of its lists and watches ended at that RV", ""}
	resumedTwice      = &Code{"resumed-twice", "{client} resumed {origin}, but {other} had already resumed it, up to RV {got}", ""}
	resumedAfterGone  = &Code{"resumed-after-410", "{client} resumed {origin}, although {other} had received 410 Gone, after which a client must relist", ""}
	resumedForeign    = &Code{"resumed-foreign", "{client} resumed {origin}, which belongs to another client or has another scope or selector", ""}
	resumedElsewhere  = &Code{"resumed-elsewhere", "{client} resumed {origin} at {rv}, where the last RV seen was {want}", ""}
	resumedWithLoss   = &Code{"resumed-with-loss", "{client} never received {owed}: it resumed {origin} at {rv}, where the last RV seen was {want}", "it missed {got event}"}
	resumedRepeating  = &Code{"resumed-repeating", "{client} received {evidence} again: it resumed {origin} at {rv}, where the last RV seen was {want}", "{got event} arrived again"}
	resumedUnfinished = &Code{"resumed-unfinished", "{client} resumed {origin}, which had not been read to its end", ""}
	notifiedOutOfTurn = &Code{"notified-out-of-turn", "{client}'s handler was notified of {event}[ after {evidence}]", "the informer is on {server}, for {scope}"}
	notifiedBack      = &Code{"notified-back", "{client}'s handler was notified of {event} after {evidence}", "the informer is on {server}, for {scope}"}
	notNotified       = &Code{"not-notified", "{client}'s handler was not notified of {event}, which {other} had delivered, but of {evidence}", "the informer is on {server}, for {scope}"}
	wentBack          = &Code{"went-back", "{client} went back in time: {shown} after {seen}", ""}
)

// Responses.
var (
	internalError  = &Code{"internal-error", "{subject} was answered with an internal error: {message}", "no fault kept {server} from reading stored data"}
	statusOfWrites = &Code{"status-of-writes", "{subject} failed with a status that only writes may return[: {message}]", ""}
	absentNowhere  = &Code{"absent-nowhere", "{op} found nothing, but the storage's error has no RV", ""}
	absentTooOld   = &Code{"absent-too-old", "{op} found nothing at RV {got}, older than RV {want}", ""}
	absentInFuture = &Code{"absent-in-future", "{op} found nothing at RV {got}, but etcd was at revision {want} at most by then", ""}
	absentYetThere = &Code{"absent-yet-there", "{op} found nothing at RV {got}, at which the object written at {rv} was stored", ""}
)

// While nothing is wrong.
var (
	answeredLate    = &Code{"answered-late", "{subject} was answered after {took}, although nothing was wrong", "{allowed} was allowed"}
	notAnswered     = &Code{"not-answered", "{subject} had not been answered after {took}, although nothing was wrong", "{allowed} was allowed"}
	answeredFailure = &Code{"answered-failure", "{subject} failed, although nothing was wrong[: {message}]", ""}
	firstEventLate  = &Code{"first-event-late", "{subject} received its first event {took} after it opened, or never, although nothing was wrong", "{allowed} was allowed"}
	deliveredLate   = &Code{"delivered-late", "{client} received {event} {took} after it was due, although nothing was wrong", "that was at {since}, and {allowed} was allowed"}
	notDelivered    = &Code{"not-delivered", "{client} had not received {owed} by {time}, although nothing was wrong", "it was due at {since}, and {allowed} was allowed"}
)

// After faults have healed, and what a server keeps.
var (
	informerDiffers = &Code{"informer-differs", "{client}'s store did not converge to the state in etcd: {differences}", "the informer on {server}, for {scope}, was at RV {got} when the run ended at {time}"}
	informerBehind  = &Code{"informer-behind", "{client} reports that its store is at RV {got}, but it holds the state at RV {want}", "the informer is on {server}, for {scope}"}
	informerAhead   = &Code{"informer-ahead", "{client} reports that its store is at RV {got}, but etcd was at revision {want} when the run ended", "the informer is on {server}, for {scope}"}
	notRefreshed    = &Code{"not-refreshed", "{client} received nothing at or above {rv} by {time}", "it requested bookmarks, and etcd was at that revision at {since}[; the last to arrive was {evidence}]"}
	lateEvent       = &Code{"late-event", "{client} received {event} {took} after the write had been acknowledged", "that was at {since}, and {allowed} was allowed[; {other} then had a {consumer} consumer]"}
	notShared       = &Code{"not-shared", "{server} held {got etcd watch} for {watches}", "that was at {time}, when {want} was allowed"}
	notReleased     = &Code{"not-released", "{server} still held {leftovers} {phase}", "that was at {time}"}
	mutated         = &Code{"mutated", "{holder} as mutated by the consumer of {mutator}", ""}
)
