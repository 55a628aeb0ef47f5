// Package cacher is a watch cache: it serves the lists, gets and watches of one resource from
// memory, for any number of clients, at the price of one watch of the storage below. It implements
// storage.Interface of k8s.io/apiserver over any other storage.Interface, normally the etcd3 store,
// with the semantics of Kubernetes' own k8s.io/apiserver/pkg/storage/cacher, so that each can
// replace the other.
//
// # How it works
//
// One watch of the storage feeds an append-only log of immutable events, the window, and an ordered
// copy-on-write tree of the current objects. Each event has the state before it, from which past
// states are derived, as well as the event's meaning to a watch with a selector: enter, stay or
// leave.
//
// A client's watch is a cursor into the log. It has no buffer of its own, and no send that could
// block the dispatcher, which only wakes the watches that an event may concern, by key and by the
// value of an indexed field. An idle watch has no goroutine; one runs while there is something to
// send. A slow consumer delays only itself. When the window has passed its cursor, its stream ends
// with 410 Gone, and its client relists or resumes. A bookmark is the position of a cursor, so it
// is never ahead of what was sent.
//
// A list is a snapshot of the tree at one resourceVersion, and so is each of its pages. A list of
// the most recent state asks the storage for its resourceVersion, waits until the cache has reached
// that, and falls back to the storage if it does not. An event is encoded once for each format,
// when first requested.
//
// # Where to look
//
//   - config.go, cacher.go: the configuration of a cache; gets and writes
//   - load.go, ingest.go: loading the objects of the storage, streamed or listed; watching it, and
//     reinitialising
//   - state.go, ready.go: the state of the cache, its resourceVersion, and whether it may be read
//   - log.go, tree.go, snapshots.go: the window, the objects, past states
//   - dispatch.go, watchers.go, bookmarks.go: which watches to wake
//   - watch.go, initial.go, watcher.go, filter.go: one watch from request to end
//   - payload.go: delivered objects, encoded once
//   - list.go, fresh.go, compact.go: lists, waiting for a resourceVersion, compaction of the
//     storage
//   - metrics.go: metrics under the names of Kubernetes' cache, and of memory usage
//
// Lock order: state, then watchers, then a single watcher.
//
// # Kubernetes' test suite
//
// suite_test.go runs everything that Kubernetes' cacher_test.go runs of
// k8s.io/apiserver/pkg/storage/testing, with the same feature gates, and RunTestWatchContextCancel.
// docs/cacher.md says which tests are left out and why, and compares the two caches feature by feature.
package cacher
