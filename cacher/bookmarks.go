package cacher

import (
	"container/heap"
	"time"
)

// bookmarkBeforeDeadline is how long before a watch's deadline it gets its last
// bookmark.
const bookmarkBeforeDeadline = 2 * time.Second

// bookmarkSchedule says when a watcher gets its next bookmark.
type bookmarkSchedule struct {
	deadline time.Time // of the request; zero for none
	next     time.Time // zero for never
	place    int       // in the queue, counted from 1; 0 for none
}

// bookmarkQueue holds the watches that want bookmarks, by due time.
type bookmarkQueue struct {
	queue []*watcher
}

// schedule adds a watch whose next bookmark is set.
func (q *bookmarkQueue) schedule(w *watcher) {
	if !w.bookmarks.next.IsZero() {
		heap.Push(q, w)
	}
}

// cancel removes a watch, if it is in the queue.
func (q *bookmarkQueue) cancel(w *watcher) {
	if w.bookmarks.place > 0 {
		heap.Remove(q, w.bookmarks.place-1)
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q *bookmarkQueue) Len() int { return len(q.queue) }

func (q *bookmarkQueue) Less(i, j int) bool {
	return q.queue[i].bookmarks.next.Before(q.queue[j].bookmarks.next)
}

func (q *bookmarkQueue) Swap(i, j int) {
	q.queue[i], q.queue[j] = q.queue[j], q.queue[i]
	q.queue[i].bookmarks.place, q.queue[j].bookmarks.place = i+1, j+1
}

func (q *bookmarkQueue) Push(w any) {
	added := w.(*watcher)
	q.queue = append(q.queue, added)
	added.bookmarks.place = len(q.queue)
}

func (q *bookmarkQueue) Pop() any {
	last := len(q.queue) - 1
	removed := q.queue[last]
	q.queue[last] = nil
	q.queue = q.queue[:last]
	removed.bookmarks.place = 0
	return removed
}

// sendDue makes watches send bookmarks that are due, and returns when the next one is; zero if
// there is none. position is the dispatcher's: earlier events have already woken the watches that
// they concern.
func (w *watchers) sendDue(now time.Time, position uint64) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	for q := &w.bookmarks; len(q.queue) > 0; {
		first := q.queue[0]
		if first.bookmarks.next.After(now) {
			return first.bookmarks.next
		}
		first.wakeForBookmark(position)
		first.bookmarks.next = first.nextBookmark(now)
		if first.bookmarks.next.IsZero() {
			q.cancel(first)
		} else {
			heap.Fix(q, 0)
		}
	}
	return time.Time{}
}
