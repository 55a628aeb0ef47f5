package model

import (
	"iter"
	"maps"
	"strings"
)

// History is everything that a run recorded: what the clients did and saw, and
// the ground truth. It is plain data; package traces reads and writes it, package
// linearizability checks it.
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
	// Leaders are in order of time, and so are the Windows of each server. They are
	// sampled: a simulation samples whenever a message arrives or leaves.
	Leaders []Leader
	Windows []CacheWindow

	// Healed is when the last fault had healed and the quiet phase began; End
	// is when the run ended. Liveness is judged on the time between.
	Healed, End int64
	// Steady says that no goroutine was stalled on purpose, not even before Healed.
	Steady bool
}

// Each yields a pointer to each record of a list, which avoids copies, and lets a
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
	// UID distinguishes an object from one that was recreated under the same name.
	UID string `json:"uid,omitempty"`
	// RV is the revision of the object's last change. In a DELETED event it is
	// the revision of the deletion, or of the change that left the selector.
	RV int64 `json:"rv"`
}

// FinalizingLabel, with any value, marks an object that has a deletionTimestamp and still has
// a finalizer. An update that removes the last finalizer removes the object.
const FinalizingLabel = "watchsim/finalizing"

// Scope is the part of a resource that a list or watch requests. Empty fields
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

// RVUnset is the RV of a request without a resourceVersion, as opposed to the
// explicit resourceVersion "0".
const RVUnset int64 = -1

// Pending is the Return of an operation that got no response, and the Closed of a
// stream that was still open at the end.
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
	TooMany       Code = "TooMany"  // 429: retry later; the request had no effect
	// Unknown is a timeout, a lost connection or a crashed server: a write may
	// or may not have taken effect.
	Unknown Code = "Unknown"
	// Unavailable means that the server refused the request: no effect.
	Unavailable Code = "Unavailable"
)

// Answer distinguishes the responses with Code Unknown, in which the server reported a
// failure. It is empty if there was no response, or it was not recorded.
type Answer string

// The responses that leave the outcome of a request unknown.
const (
	// InternalError is a 500 that the server itself caused.
	InternalError Answer = "InternalError"
	// TimedOut is a 504: the request timed out in the server.
	TimedOut Answer = "Timeout"
	// StoreError is an error of etcd, or of the connection to it, that the server returns
	// as a 500.
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

	// The request. Object is what a create or update is to write (its RV is 0, its
	// UID empty for creates), or for a delete the UID that it requires.
	// Precondition is the RV that an update or delete requires of the stored object, 0
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
	// Touch says that a get is done by an update that does not change the object: it returns the newest state and writes
	// nothing, unless the stored value is stale. In imported histories, it may have written what it returns.
	Touch bool `json:"touch,omitempty"`
	// Patch is the labels that a touch sets. It writes unless the object has them, so that
	// an earlier state of the object may recur.
	Patch map[string]string `json:"patch,omitempty"`

	// The response. ResultRV is the list's RV, or that of the object written or
	// read; for a delete, the RV of the deletion if the server returns it.
	Err     Code   `json:"err,omitempty"`
	Message string `json:"message,omitempty"`
	Answer  Answer `json:"answer,omitempty"`
	// ErrRV is the revision in the storage's error, RVUnset if it has none; 0 if requests
	// were recorded at the API, which shows neither that nor all preconditions.
	ErrRV     int64    `json:"errRV,omitempty"`
	ResultRV  int64    `json:"resultRV,omitempty"`
	Objects   []Object `json:"objects,omitempty"`
	HasMore   bool     `json:"hasMore,omitempty"`   // a continue token was returned
	Remaining int64    `json:"remaining,omitempty"` // remainingItemCount, -1 if absent
}

// Patched returns labels with the patch applied.
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
	// ResumesStream and ResumesList are the ID of the stream or list that this one
	// continues from in the list-watch protocol; 0 for none.
	ResumesStream int `json:"resumesStream,omitempty"`
	ResumesList   int `json:"resumesList,omitempty"`
	// Consumer describes who reads: fast, slow, hiccuping, stalled.
	Consumer string `json:"consumer,omitempty"`
	// Timeout is the longest duration that the client requested for the stream
	// (timeoutSeconds), in nanoseconds; 0 for none.
	Timeout int64 `json:"timeout,omitempty"`
	// Mutates says that the API server itself mutates each object that the cache
	// delivers for this stream, after copying it for the client.
	Mutates bool `json:"scribbles,omitempty"`

	// Err is why the watch could not be opened, OK if it was.
	Err     Code   `json:"err,omitempty"`
	Message string `json:"message,omitempty"`
	Answer  Answer `json:"answer,omitempty"`

	Events []Event `json:"-"`

	// Closed is when the stream ended, Pending if it was open at the end of the
	// run, and Reason why, as far as the client knows.
	Closed int64       `json:"closed"`
	Reason CloseReason `json:"reason,omitempty"`
}

// CloseReason is why a stream ended, as far as its client knows.
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

// Truth is the ground truth: what etcd committed, read from etcd's own log and never
// from the cache under test.
type Truth struct {
	// Changes are the committed changes of the watched resource, in order of RV.
	Changes []Change
	// Compactions are in the order in which they were committed.
	Compactions []Compaction
	// Revision is the last revision that etcd committed, whatever it changed.
	Revision int64
}

// Change is one committed change to one object.
type Change struct {
	RV      int64 `json:"rv"`
	Deleted bool  `json:"deleted,omitempty"`
	// Expired says that etcd itself deleted the object, because its lease had expired: no
	// request did.
	Expired bool `json:"expired,omitempty"`
	// Object is the new state; for a deletion, the last one.
	Object Object `json:"object"`
}

// Compaction is one committed compaction: history at and below RV is discarded,
// except for the state at RV itself.
type Compaction struct {
	RV int64 `json:"rv"`
	// Time is the earliest time at which the compaction can have been requested, in
	// simulated nanoseconds; Pending if unknown.
	Time int64 `json:"time"`
}

// Fault is one fault that fired.
type Fault struct {
	Name  string `json:"name"`
	Begin int64  `json:"begin"`
	End   int64  `json:"end"`
	Note  string `json:"note,omitempty"`
	// Processes are what it acted on: etcd members, API servers and clients, by
	// their names in operations and streams. None means that it may have acted
	// on any.
	Processes []string `json:"processes,omitempty"`
}

// Informer is the content of a client-go informer's store at the end of a run.
type Informer struct {
	Client  string   `json:"client"`
	Server  string   `json:"server"`
	Scope   Scope    `json:"scope"`
	Objects []Object `json:"objects"`
	// LastSyncRV is the informer's lastSyncResourceVersion.
	LastSyncRV int64 `json:"lastSyncRV"`
	// Notifications are the calls of its handler, in order; nil if not recorded.
	Notifications []Notification `json:"notifications,omitempty"`
}

// Notification is one call of an informer's handler: an object was added, updated or
// deleted.
type Notification struct {
	Time   int64     `json:"time"`
	Type   EventType `json:"type"`
	Object Object    `json:"object"`
}

// Key identifies an object within its resource. Two objects may have the same
// key one after the other; their UIDs tell them apart.
type Key struct {
	Namespace string
	Name      string
}

// Key returns the object's identity.
func (o *Object) Key() Key { return Key{Namespace: o.Namespace, Name: o.Name} }

// String returns the key as etcd stores it below the resource's prefix. A
// cluster-scoped object has no namespace and no slash.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Compare orders keys as etcd does: by the bytes of String. That is not the
// order of (namespace, name) pairs, because '-' and '.' sort before '/':
// "team-a/x" comes before "team/x".
func (k Key) Compare(other Key) int {
	if k.Namespace == other.Namespace {
		return strings.Compare(k.Name, other.Name)
	}
	return strings.Compare(k.String(), other.String())
}

// Equal reports whether two states of an object are the same in every field.
func (o *Object) Equal(other *Object) bool {
	if o == other || o == nil || other == nil {
		return o == other
	}
	return o.RV == other.RV && o.Value == other.Value && o.Name == other.Name && o.Namespace == other.Namespace &&
		o.Node == other.Node && o.UID == other.UID && maps.Equal(o.Labels, other.Labels)
}
