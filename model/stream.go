package model

import "slices"

// This file is the specification of a watch: what may arrive on one stream, as
// a state machine. It reads best from the top.
//
// A client requests a [Watch]. The stream begins in the state that [Start] returns,
// and each event takes it to one of the states that [Step] returns. No state
// means that the event breaks the specification. The stream may end at any time;
// [Complete] says whether it then has everything.
//
// ResourceVersions order all changes, so that nearly every step has one outcome.
// The exception is the RV at which the initial block, the initial events, was
// taken. The server says it at the end of the block, or never: [Step] returns one
// state for each possible RV.

// Watch is what a client requests when it opens a watch.
type Watch struct {
	Scope    Scope
	Selector Selector
	// RV is resourceVersion, RVUnset if the request has none.
	RV int64
	// Bookmarks is allowWatchBookmarks, InitialEvents is sendInitialEvents.
	Bookmarks, InitialEvents bool
	// Committed is the highest RV that any client had observed when the watch was
	// called.
	Committed int64
}

// Watch returns what a stream requested, without Committed.
func (s *Stream) Watch() Watch {
	return Watch{Scope: s.Scope, Selector: s.Selector, RV: s.RV, Bookmarks: s.Bookmarks, InitialEvents: s.InitialEvents}
}

// Refusal returns why a watch was refused: the error of the request, or the ERROR event
// that came first, with which Kubernetes refuses a watch it cannot serve.
func (s *Stream) Refusal() Code {
	if s.Err == OK && len(s.Events) > 0 && s.Events[0].Type == Error {
		return s.Events[0].Err
	}
	return s.Err
}

// Mark returns which event marks the end of the initial events, -1 if none does.
func (s *Stream) Mark() int {
	return slices.IndexFunc(s.Events, func(e Event) bool { return e.InitialEnd })
}

// Beginning returns the RV that a stream starts from, and the size of its initial block.
// Without a mark the block is assumed to be all ADDED events that come first; some of
// them may follow it.
func (s *Stream) Beginning() (rv int64, block int) {
	if !s.Watch().HasBlock() {
		return s.RV, 0
	}
	if mark := s.Mark(); mark >= 0 {
		return s.Events[mark].RV, mark + 1
	}
	for block < len(s.Events) && s.Events[block].Type == Added {
		rv = max(rv, s.Events[block].RV)
		block++
	}
	return rv, block
}

// HasBlock reports whether the stream begins with an initial block: the current state,
// as ADDED events that are not changes. A watch from RV 0 or without an RV begins with
// one, and so does one with sendInitialEvents. Any other begins with the first change
// after its RV.
func (w Watch) HasBlock() bool { return w.InitialEvents || w.RV == 0 || w.RV == RVUnset }

// MustMark reports whether a bookmark annotated k8s.io/initial-events-end must mark
// the end of the initial block.
func (w Watch) MustMark() bool { return w.InitialEvents && w.Bookmarks }

// MayMark reports whether the end of the initial block may be marked. An API
// server with WatchList treats a watch with RV 0 or unset that allows bookmarks
// as one with sendInitialEvents (SetListOptionsDefaults in apimachinery).
func (w Watch) MayMark() bool { return w.HasBlock() && w.Bookmarks }

// Oldest returns the lowest RV at which the initial block may be taken. With
// sendInitialEvents, that is the requested RV, or else Committed.
//
// By the documentation, a watch without an RV and without sendInitialEvents starts
// from the most recent state, but that is not required here: Kubernetes' cacher serves
// it from any state it has (getWatchCacheResourceVersion calls it the legacy case).
func (w Watch) Oldest() int64 {
	switch {
	case !w.InitialEvents:
		return 0
	case w.RV == RVUnset:
		return w.Committed
	}
	return w.RV
}

// Stage is the progress of a stream.
type Stage int

// The stages of a stream, in their order. A stream without an initial block goes
// from Opened to Live.
const (
	Opened  Stage = iota // nothing has arrived
	InBlock              // some of the initial block has arrived
	Live                 // changes arrive
	Ended                // ERROR has arrived, and nothing may follow
)

// StreamState is the state of one stream.
type StreamState struct {
	Stage Stage
	// RV is, within the block, the RV at which the block was taken. For a live
	// stream it is the position: all that it is owed up to there has arrived.
	RV int64
	// Arrived counts the events at RV that have arrived, if more are owed there, and is otherwise 0. A change is of one object, so that happens only when
	// a lease has expired for several.
	Arrived int
	// Sent are the keys of the block that have arrived, in the order of arrival.
	// It must not be changed. Size is the number of objects in the block.
	Sent []Key
	Size int
}

// Equal reports whether two states allow the same future. Size follows from RV.
func (s StreamState) Equal(other StreamState) bool {
	return s.Stage == other.Stage && s.RV == other.RV && s.Arrived == other.Arrived && slices.Equal(s.Sent, other.Sent)
}

// Start returns the state of a stream on which nothing has arrived.
func Start() StreamState { return StreamState{} }

// Step returns the states that a stream can be in after an event; none if the
// event is not allowed. Reached is the highest revision that etcd can have reached
// when the event arrived: nothing arrives before it is committed.
func Step(store *Store, w Watch, state StreamState, event *Event, reached int64) []StreamState {
	if state.Stage == Ended {
		return nil // an ERROR is the last event
	}
	if event.InitialEnd && event.Type != Bookmark {
		return nil // only a bookmark marks the end of the initial block
	}
	switch event.Type {
	case Error:
		return fail(w, state, event, reached)
	case Added, Modified, Deleted:
		if event.Object == nil || event.Object.RV != event.RV || event.RV > reached {
			return nil
		}
	case Bookmark:
		// A client cannot resume from RVs below 1, which mean something else.
		if !w.Bookmarks || event.RV < 1 || event.RV > reached {
			return nil
		}
	default:
		return nil
	}

	switch {
	case state.Stage == Live:
		return stepLive(store, w, state, event)
	case !w.HasBlock():
		return stepLive(store, w, StreamState{RV: w.RV}, event)
	case state.Stage == InBlock:
		return stepBlock(store, w, state, event, reached)
	}
	// The first event shows at which RVs the block can have been taken.
	var next []StreamState
	for _, rv := range blockRVs(store, w) {
		size := len(store.List(w.Scope, w.Selector, rv))
		if !w.MustMark() && size == 0 {
			next = append(next, stepLive(store, w, StreamState{RV: rv}, event)...)
		}
		next = append(next, stepBlock(store, w, StreamState{Stage: InBlock, RV: rv, Size: size}, event, reached)...)
	}
	return next
}

// blockRVs returns the RVs at which an initial block can be taken, one for each
// matching state since the oldest allowed one.
func blockRVs(store *Store, w Watch) []int64 {
	rvs := []int64{w.Oldest()}
	for _, t := range store.Owed(w.Scope, w.Selector, w.Oldest(), store.LastRV()) {
		rvs = append(rvs, t.RV)
	}
	return rvs
}

// stepBlock is a step within the initial block. The block is the state that
// matches scope and selector at one RV: each object once, as ADDED, in any order.
//
// It ends with the mark if there is one, or else with the last of its objects.
// Only then is it certain that etcd had reached the RV of the block.
func stepBlock(store *Store, w Watch, state StreamState, event *Event, reached int64) []StreamState {
	if event.Type == Bookmark {
		complete := len(state.Sent) == state.Size
		if event.InitialEnd && complete && promises(store, w, state, event.RV) {
			return []StreamState{{Stage: Live, RV: event.RV}}
		}
		return nil
	}
	key := event.Object.Key()
	stored := store.Object(key, state.RV)
	if event.Type != Added || !w.Scope.Contains(key) || !w.Selector.Matches(stored) ||
		!event.Object.Equal(stored) || slices.Contains(state.Sent, key) {
		return nil
	}
	sent := append(slices.Clip(state.Sent), key)
	next := []StreamState{{Stage: InBlock, RV: state.RV, Sent: sent, Size: state.Size}}
	if !w.MustMark() && state.RV <= reached && len(sent) == state.Size {
		next = append(next, StreamState{Stage: Live, RV: state.RV})
	}
	return next
}

// stepLive is a step of a stream after its initial block. The next event
// must be a bookmark or exactly the next one owed: nothing is missing, duplicate,
// altered or early.
func stepLive(store *Store, w Watch, state StreamState, event *Event) []StreamState {
	if event.Type == Bookmark {
		if event.InitialEnd || !promises(store, w, state, event.RV) {
			return nil
		}
		return []StreamState{{Stage: Live, RV: event.RV}}
	}
	due, owed := next(store, w, state)
	if !owed || event.Type != due.Type || !event.Object.Equal(due.Object) {
		return nil
	}
	after := StreamState{Stage: Live, RV: event.RV, Arrived: 1}
	if event.RV == state.RV {
		after.Arrived += state.Arrived
	}
	if due, owed = next(store, w, after); !owed || due.RV > event.RV {
		after.Arrived = 0
	}
	return []StreamState{after}
}

// next returns the first event that a stream is owed after its initial block; false if there is none.
func next(store *Store, w Watch, state StreamState) (Transition, bool) {
	if state.Arrived > 0 {
		if there := store.Owed(w.Scope, w.Selector, state.RV-1, state.RV); state.Arrived < len(there) {
			return there[state.Arrived], true
		}
	}
	return store.NextOwed(w.Scope, w.Selector, state.RV)
}

// promises reports whether a stream may send a bookmark at rv. Everything up to the RV
// of a bookmark must have arrived, so that a client may resume from it. It may repeat the previous bookmark.
func promises(store *Store, w Watch, state StreamState, rv int64) bool {
	due, owed := next(store, w, state)
	return rv >= state.RV && (!owed || due.RV > rv)
}

// fail is the step of an ERROR, which must carry a status. An open stream may fail at
// any time and for any reason; [MayRefuse] says with which errors a server may refuse
// a watch.
func fail(w Watch, state StreamState, event *Event, reached int64) []StreamState {
	if event.Err == OK && event.Message == "" {
		return nil
	}
	if state.Stage == Opened && !MayRefuse(w, event.Err, reached) {
		return nil
	}
	return []StreamState{{Stage: Ended}}
}

// Complete reports whether a stream in this state has everything that it is
// owed, given the last revision of etcd. One that has failed is owed nothing.
func Complete(store *Store, w Watch, state StreamState, revision int64) bool {
	switch {
	case state.Stage == Ended:
		return true
	case state.Stage == InBlock:
		return false
	case state.Stage == Opened && !w.HasBlock():
		state.RV = w.RV
	case state.Stage == Opened:
		// An empty state needs no event, unless a bookmark must mark its end.
		return !w.MustMark() && w.Oldest() <= revision && len(store.List(w.Scope, w.Selector, revision)) == 0
	}
	_, owed := next(store, w, state)
	return !owed
}
