package model

import (
	"iter"
	"maps"
)

// History is everything one run recorded: what the clients did and saw, and
// what was true. It is plain data; package traces reads and writes it, package
// linearizability judges it.
//
// Times are nanoseconds of simulated time since the start of the run.
// ResourceVersions (RV) are etcd revisions; 0 means "none".
type History struct {
	Operations []Operation
	Streams    []Stream
	Truth      Truth
	Faults     []Fault
	Informers  []Informer
	Censuses   []Census
	// Leaders are in order of time, and so are the Windows of each server. Each is as
	// late as whoever looked: a simulation looks whenever a message arrives or leaves.
	Leaders []Leader
	Windows []CacheWindow

	// Healed is when the last fault had healed and the quiet phase began; End
	// is when the run ended. Liveness is judged on what lies between.
	Healed, End int64
	// Steady says that no goroutine was stalled on purpose, also before Healed.
	Steady bool
}

// Each yields a pointer to each record of a list, which spares copying it, and lets a
// witness point into the history.
func Each[T any](records []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range records {
			if !yield(&records[i]) {
				return
			}
		}
	}
}

// Object is one stored object, reduced to what a watch cache can get wrong.
// An Object is immutable once it is part of a History.
type Object struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Node is the value of the field spec.nodeName.
	Node string `json:"node,omitempty"`
	// Value is the content; the workload never writes the same value twice.
	Value string `json:"value"`
	// UID tells two objects apart that had the same name one after the other.
	UID string `json:"uid,omitempty"`
	// RV is the revision of the object's last change. In a DELETED event it is
	// the revision of the deletion, or of the change that left the selector.
	RV int64 `json:"rv"`
}

// FinalizingLabel, with any value, marks an object that is being deleted and still has a
// finalizer: a server stores it with a deletionTimestamp, and its removal takes an update
// that finds no finalizer left.
const FinalizingLabel = "watchsim/finalizing"

// Scope is the part of a resource that a list or watch asks for. Empty fields
// mean "any".
type Scope struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Single reports whether the scope is one object. A name in any namespace is a selection
// from a collection.
func (s Scope) Single() bool { return s.Namespace != "" && s.Name != "" }

// Selector is a conjunction of equalities on labels and on spec.nodeName.
type Selector struct {
	Labels map[string]string `json:"labels,omitempty"`
	Node   string            `json:"node,omitempty"`
}

// Kind is what an operation does.
type Kind string

// The kinds of operation a client can issue.
const (
	Create Kind = "create"
	Update Kind = "update"
	Delete Kind = "delete"
	Get    Kind = "get"
	List   Kind = "list"
)

// Match is the resourceVersionMatch of a list.
type Match string

// The values Kubernetes defines for resourceVersionMatch.
const (
	MatchUnset        Match = ""
	MatchExact        Match = "Exact"
	MatchNotOlderThan Match = "NotOlderThan"
)

// RVUnset is the RV of a request that names no resourceVersion, as opposed to
// the explicit resourceVersion "0".
const RVUnset int64 = -1

// Pending is the Return of an operation whose response never came, and the
// Closed of a stream that was still open at the end.
const Pending int64 = -1

// Code classifies how a request failed; empty means it succeeded.
type Code string

// The failures the specification distinguishes.
const (
	OK            Code = ""
	NotFound      Code = "NotFound"
	AlreadyExists Code = "AlreadyExists"
	Conflict      Code = "Conflict"
	Expired       Code = "Expired"  // 410 Gone
	TooLarge      Code = "TooLarge" // the RV lies in the future
	Invalid       Code = "Invalid"  // 400, 422: the request itself is wrong
	TooMany       Code = "TooMany"  // 429: try again later; nothing happened
	// Unknown is a timeout, a lost connection or a crashed server: a write may
	// or may not have taken effect.
	Unknown Code = "Unknown"
	// Unavailable means that the server refused before trying: no effect.
	Unavailable Code = "Unavailable"
)

// Answer tells the answers apart that are Unknown: the server did answer, and said that
// it had failed. It is empty where none came, or where nobody recorded it.
type Answer string

// The answers that say nothing of what became of a request.
const (
	// InternalError is a 500 that is the server's own doing.
	InternalError Answer = "InternalError"
	// TimedOut is a 504: the server gave up waiting.
	TimedOut Answer = "Timeout"
	// StoreError is an error of etcd, or of the connection to it, that the server passes
	// on as a 500.
	StoreError Answer = "StoreError"
)

// Operation is one request and its response.
type Operation struct {
	ID     int    `json:"id"`
	Client string `json:"client"`
	Server string `json:"server"`
	Kind   Kind   `json:"kind"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"` // Pending if no response came

	// The request. Object is what a create or update meant to write (its RV is
	// 0, its UID empty for creates), or for a delete the UID that it requires.
	// Precondition is the RV an update or delete requires the stored object to have, 0
	// for none.
	Scope        Scope    `json:"scope"`
	Selector     Selector `json:"selector"`
	Object       *Object  `json:"object,omitempty"`
	Precondition int64    `json:"precondition,omitempty"`
	RV           int64    `json:"rv"`
	Match        Match    `json:"match,omitempty"`
	Limit        int64    `json:"limit,omitempty"`
	// Continues is the ID of the list operation whose continue token this page
	// used, 0 for a first page. IDs start at 1.
	Continues int `json:"continues,omitempty"`
	// Touch says that a get is made by a write that returns the newest state and writes nothing, unless the stored value
	// is stale: an update that leaves the object as it is. In what was imported, it may have written what it returns.
	Touch bool `json:"touch,omitempty"`
	// Patch is the labels that a touch sets. It writes unless the object has them, so that
	// a state of the object may return.
	Patch map[string]string `json:"patch,omitempty"`

	// The response. ResultRV is the list's RV, or that of the object written or
	// read; for a delete, the RV of the deletion where the server tells it.
	Err     Code   `json:"err,omitempty"`
	Message string `json:"message,omitempty"`
	Answer  Answer `json:"answer,omitempty"`
	// ErrRV is the revision that the storage's error names, RVUnset if it names none; 0 if
	// nobody looked below the API, which shows neither that nor all preconditions.
	ErrRV     int64    `json:"errRV,omitempty"`
	ResultRV  int64    `json:"resultRV,omitempty"`
	Objects   []Object `json:"objects,omitempty"`
	HasMore   bool     `json:"hasMore,omitempty"`   // a continue token came back
	Remaining int64    `json:"remaining,omitempty"` // remainingItemCount, -1 if absent
}

// Patched returns labels with those of the patch set.
func (op *Operation) Patched(labels map[string]string) map[string]string {
	if len(op.Patch) == 0 {
		return labels
	}
	patched := map[string]string{}
	maps.Copy(patched, labels)
	maps.Copy(patched, op.Patch)
	return patched
}

// Stream is one watch: the request, and all that arrived on it.
type Stream struct {
	ID     int    `json:"id"`
	Client string `json:"client"`
	Server string `json:"server"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"`

	Scope    Scope    `json:"scope"`
	Selector Selector `json:"selector"`
	RV       int64    `json:"rv"`
	// Bookmarks is allowWatchBookmarks; InitialEvents is sendInitialEvents.
	Bookmarks     bool `json:"bookmarks,omitempty"`
	InitialEvents bool `json:"initialEvents,omitempty"`
	// Resumes is the ID of the operation or stream this one continues from, as
	// the list-watch protocol has it; 0 for none.
	ResumesStream int `json:"resumesStream,omitempty"`
	ResumesList   int `json:"resumesList,omitempty"`
	// Consumer describes who reads: fast, slow, hiccuping, stalled.
	Consumer string `json:"consumer,omitempty"`
	// Timeout is how long the client asked for the stream to last at most
	// (timeoutSeconds), in nanoseconds; 0 if it did not say.
	Timeout int64 `json:"timeout,omitempty"`
	// Mutates says that the API server itself writes over each object that the
	// cache delivers for this stream, once the client's copy has been made.
	Mutates bool `json:"scribbles,omitempty"`

	// Err is why the watch could not be opened, if it could not.
	Err     Code   `json:"err,omitempty"`
	Message string `json:"message,omitempty"`
	Answer  Answer `json:"answer,omitempty"`

	Events []Event `json:"-"`

	// Closed is when the stream ended, Pending if it was open at the end of the
	// run, and Reason why, as far as the client knows.
	Closed int64       `json:"closed"`
	Reason CloseReason `json:"reason,omitempty"`
}

// CloseReason is what a client knows of why its stream ended.
type CloseReason string

// The ways a stream ends, seen from the client.
const (
	ClosedByClient CloseReason = "client"     // it cancelled
	ClosedByServer CloseReason = "server"     // an orderly end of stream
	ClosedByError  CloseReason = "error"      // after an ERROR event
	ClosedByReset  CloseReason = "connection" // the connection or the server died
)

// EventType is the type of a watch event.
type EventType string

// The event types of metav1.WatchEvent.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
	Error    EventType = "ERROR"
)

// Event is one watch event as a client received it.
type Event struct {
	Stream int       `json:"stream"`
	Time   int64     `json:"time"`
	Type   EventType `json:"type"`
	RV     int64     `json:"rv"`
	Object *Object   `json:"object,omitempty"`
	// InitialEnd marks the bookmark annotated k8s.io/initial-events-end.
	InitialEnd bool   `json:"initialEnd,omitempty"`
	Err        Code   `json:"err,omitempty"`
	Message    string `json:"message,omitempty"`
	Answer     Answer `json:"answer,omitempty"`
}

// Truth is what etcd committed, read from etcd's own log and never from the
// cache under test.
type Truth struct {
	// Changes are the committed changes of the watched resource, in order of RV.
	Changes []Change
	// Compactions are in the order in which they were committed.
	Compactions []Compaction
	// Revision is the last revision etcd committed, whatever it changed.
	Revision int64
}

// Change is one committed change to one object.
type Change struct {
	RV      int64 `json:"rv"`
	Deleted bool  `json:"deleted,omitempty"`
	// Expired reports whether etcd deleted the object by itself, because its lease had
	// expired: no request did.
	Expired bool `json:"expired,omitempty"`
	// Object is the new state; for a deletion, the last one.
	Object Object `json:"object"`
}

// Compaction is one committed compaction: history at and below RV is gone,
// but for the state at RV itself.
type Compaction struct {
	RV int64 `json:"rv"`
	// Time is when the compaction was requested at the earliest, in simulated
	// nanoseconds; Pending if unknown.
	Time int64 `json:"time"`
}

// Fault is one fault that fired.
type Fault struct {
	Name  string `json:"name"`
	Begin int64  `json:"begin"`
	End   int64  `json:"end"`
	Note  string `json:"note,omitempty"`
	// Processes are what it acted on: etcd members, API servers and clients, by
	// the names that operations and streams have for them. None means that it
	// may have acted on any.
	Processes []string `json:"processes,omitempty"`
}

// Informer is the content of a client-go informer's store at the end of a run.
type Informer struct {
	Client  string   `json:"client"`
	Server  string   `json:"server"`
	Scope   Scope    `json:"scope"`
	Objects []Object `json:"objects"`
	// LastSyncRV is the RV the informer says it has reached.
	LastSyncRV int64 `json:"lastSyncRV"`
	// Notifications are what its handler was told, in order; nil if nobody recorded it.
	Notifications []Notification `json:"notifications,omitempty"`
}

// Notification is one call of an informer's handler: that an object is there, has changed,
// or is gone.
type Notification struct {
	Time   int64     `json:"time"`
	Type   EventType `json:"type"`
	Object Object    `json:"object"`
}
