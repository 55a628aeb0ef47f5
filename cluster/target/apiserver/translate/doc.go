// Package translate converts pods, events, errors and watches between Kubernetes' types
// and those of package model.
//
// It uses only long-established parts of Kubernetes' API, so that it compiles against
// both the releases of cluster/released and the one in go.mod.
//
//   - pods.go: pods, their keys, codec, selectors and indices, and resourceVersions
//   - code.go: errors
//   - events.go: events of watches, in both directions
//   - clientwatch.go: a watch of the cache as a stream of a client
//   - listerwatcher.go: client-go's lists and watches as operations and streams
//   - informerwatch.go: a stream of a client as a watch for client-go's informers
//   - mutate.go: what a careless consumer does to the pods it got
//   - upstream.go: the storage below a cache, which tells where the cache is and fails on demand
//   - injection.go: stored values that cannot be read for a while
package translate
