// Package registry answers one question: what does an API server request from a
// resource's storage on behalf of a client? It follows the HTTP handlers and the
// generic registry: defaulting and validation of options, the key, the selectors, and
// the calls of storage.Interface. Pods, events, errors and watches become those of
// package model on the way.
//
// It uses only long-established parts of Kubernetes' API, so that it compiles against the releases
// of cluster/released and the one in go.mod. [Release] contains their differences.
//
//   - operations.go: the handler, what differs between releases, and reads, writes and lists
//   - watch.go: watches, as streams of clients
//   - pods.go: pods, their keys, codec, selectors and indices, resourceVersions, and what a
//     careless consumer does to its pods
//   - code.go: errors
//   - events.go: events of watches, in both directions
//   - informer.go: client-go's lists and watches as operations and streams, and what
//     the handlers of informers are told
//   - upstream.go: the storage below a cache, which reports how far the cache is, fails on demand,
//     and makes values unreadable for a time
package registry
