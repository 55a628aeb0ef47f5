// Package cacher is a watch cache: it serves the lists, gets and watches of one
// resource from memory, however many clients there are, at the price of one watch
// of the storage below. It implements storage.Interface of k8s.io/apiserver over
// any other storage.Interface, normally the etcd3 store, with the semantics of
// Kubernetes' own k8s.io/apiserver/pkg/storage/cacher, so that either can take the
// place of the other.
//
// # How it works
//
// One watch of the storage feeds an append-only log of immutable events, the
// window, and an ordered copy-on-write tree of the current objects. Each event
// knows the state before it, so that a past state follows from a newer one, and
// what it means to a client that selects: enter, stay or leave.
//
// A client's watch is a cursor into the log. It has no buffer of its own, and no
// send that could make the dispatcher wait: that only wakes the watches that an
// event may concern, by key and by the value of an indexed field. An idle watch has
// no goroutine; one runs while there is something to send. A slow consumer delays
// only itself. When the window has passed its cursor, its stream ends with 410
// Gone, and its client lists or resumes. A bookmark is the position of a cursor, so it cannot lie.
//
// A list is a snapshot of the tree at one resourceVersion, and so is each page of
// one. A list that has to be most recent asks the storage for its
// resourceVersion, waits until the cache has reached that, and falls back to the
// storage if it does not. An event is encoded once for each format, when
// first asked for.
//
// # Where to look
//
//   - config.go, cacher.go: what a cache is made of; gets and writes
//   - load.go, ingest.go: the objects of the storage, streamed or listed; the watch of
//     it, and initializing again
//   - state.go, ready.go: what is known, up to which resourceVersion, and whether
//     it may be read
//   - log.go, tree.go, snapshots.go: the window, the objects, past states
//   - dispatch.go, watchers.go, bookmarks.go: whom to wake
//   - watch.go, initial.go, watcher.go, filter.go: one watch from request to end
//   - payload.go: what is delivered, encoded once
//   - list.go, fresh.go, compact.go: lists, waiting for a resourceVersion, what the
//     storage has forgotten
//   - metrics.go: under the names of Kubernetes' cache, and what is held in memory
//
// The lock of state comes before that of watchers, which comes before that of a
// single watcher.
//
// # Kubernetes' test suite
//
// suite_test.go runs all that Kubernetes' cacher_test.go runs of
// k8s.io/apiserver/pkg/storage/testing, with the feature gates that it sets, and
// RunTestWatchContextCancel. docs/cacher.md says which tests are left out and why, and
// compares the two caches feature by feature.
package cacher
