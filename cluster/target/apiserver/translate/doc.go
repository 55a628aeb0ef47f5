// Package translate answers one question: what are the pods, events, errors and
// watches of Kubernetes in the types of model, and what are those in Kubernetes'?
//
// It keeps to what has been in Kubernetes for long, so that it compiles against the
// releases of cluster/released as well as against the one that go.mod names.
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
