// Package recorder answers one question: what do API servers return to a client?
//
// A [Recorder] wraps the transports of clients. It neither changes nor delays requests
// and responses, and passes on what it cannot record. With client-go:
//
//	r := recorder.New("pods", recorder.Options{})
//	config.Wrap(r.Wrap("apiserver-a", "my-controller"))
//	...
//	header, history, notes, err := r.History()
//
// [Start] starts such clients, which only read: an informer for each server, and a
// client that lists at resourceVersion 0 from each server in turn. `simrun record`
// calls it. They use client-go, so that they receive what controllers receive; this is
// the only package of traces that imports Kubernetes.
//
// The recorder does not read the headers of requests, and so no credentials. Of objects, it
// keeps the namespace, name, UID, resourceVersion, spec.nodeName and the labels that
// requests select by; the rest becomes a digest under a key that is never written, from
// which contents cannot be guessed. Secrets have no digest.
//
//   - recorder.go: the recorder, and the transports
//   - encoding.go: JSON, protobuf and CBOR
//   - response.go: responses other than watches
//   - watch.go: watches
//   - informers.go: the informers and the client that lists
package recorder
