package cacher

import (
	"math/bits"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// encodedEvents is how many of the newest events keep their encodings. Watches that lag further
// behind encode for themselves.
const encodedEvents = 1024

// event is one change of one object. It is immutable except for what it caches.
type event struct {
	kind watch.EventType
	key  string
	rv   uint64
	// before is the state that the change replaced, nil if there was none.
	before *element
	// after is the new state. For a deletion it is the last one, at the RV of the deletion.
	after *element
	// stored is when the storage decoded the change, received when the cache got it.
	stored, received time.Time
	size             int64 // by Config.ObjectSize

	payloads payloads
}

// limits are the bounds of a log.
type limits struct {
	age      time.Duration
	min, max int
	bytes    int64 // 0 for none
}

// eventLog is the window: the newest events, in order. Each has a position, which counts from 0 and
// is never reused, not even after a reset. A reader only needs the position of the next event that
// it wants.
//
// It has no lock; state guards it.
type eventLog struct {
	limits limits
	// Position p is at p modulo the length of ring, which is a power of two, and at least shortest.
	ring     []*event
	shortest int
	// The events are those at positions first to end-1.
	first, end uint64
	// dispatched is the position before which all events have been dispatched. Only these may be
	// evicted: a waiting watch has not looked at the others.
	dispatched uint64
	// floor is the RV above which no event is missing.
	floor uint64
	bytes int64
}

func newEventLog(l limits) *eventLog {
	shortest := 1 << bits.Len(uint(l.min-1))
	return &eventLog{limits: l, shortest: shortest, ring: make([]*event, shortest)}
}

// reset discards everything: the events that follow are all those above an RV.
func (l *eventLog) reset(floor uint64) {
	l.first = l.end
	l.floor = floor
	l.bytes = 0
	clear(l.ring)
}

// add appends an event and makes room for it.
func (l *eventLog) add(e *event) {
	l.bytes += e.size
	for l.mustEvict(e.received) {
		oldest := l.at(l.first)
		l.ring[l.slot(l.first)] = nil
		l.first++
		l.floor = oldest.rv
		l.bytes -= oldest.size
	}
	size := int(l.end - l.first)
	switch {
	case size == len(l.ring):
		l.resize(2 * len(l.ring))
	case size < len(l.ring)/4 && len(l.ring) > l.shortest:
		l.resize(len(l.ring) / 2)
	}
	l.ring[l.slot(l.end)] = e
	l.end++
	if l.end-l.first > encodedEvents {
		l.at(l.end - encodedEvents - 1).payloads.drop()
	}
}

// mustEvict reports whether the oldest event must go before one is added.
func (l *eventLog) mustEvict(now time.Time) bool {
	count := int(l.end - l.first)
	switch {
	case count == 0, l.first >= l.dispatched:
		return false
	case count >= l.limits.max, l.limits.bytes > 0 && l.bytes > l.limits.bytes:
		return true
	case count < l.limits.min:
		return false
	default:
		return now.Sub(l.at(l.first).received) > l.limits.age
	}
}

func (l *eventLog) resize(length int) {
	old := *l
	l.ring = make([]*event, length)
	for p := l.first; p < l.end; p++ {
		l.ring[l.slot(p)] = old.at(p)
	}
}

func (l *eventLog) slot(position uint64) uint64 { return position & uint64(len(l.ring)-1) }

func (l *eventLog) at(position uint64) *event { return l.ring[l.slot(position)] }

// after returns the position of the first event above an RV, and false if some of the events above
// it were evicted.
func (l *eventLog) after(rv uint64) (position uint64, held bool) {
	if rv < l.floor {
		return 0, false
	}
	size := int(l.end - l.first)
	return l.first + uint64(sort.Search(size, func(i int) bool { return l.at(l.first+uint64(i)).rv > rv })), true
}

// read copies the events from a position on into batch and returns their number,
// and false if the position is no longer held.
func (l *eventLog) read(position uint64, batch []*event) (count int, held bool) {
	if position < l.first {
		return 0, false
	}
	for position < l.end && count < len(batch) {
		batch[count] = l.at(position)
		position++
		count++
	}
	return count, true
}
