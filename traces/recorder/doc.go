// Package recorder answers one question: what do API servers show to a client?
//
// A [Recorder] wraps the transports of clients. It changes nothing: requests and
// responses pass as they are and at their own pace, and what cannot be recorded passes
// all the same. With client-go:
//
//	r := recorder.New("pods", recorder.Options{})
//	config.Wrap(r.Wrap("apiserver-a", "my-controller"))
//	...
//	header, history, notes, err := r.History()
//
// [Start] makes such clients, which only read: an informer for each server, and a
// client that lists at resourceVersion 0 from each server in turn. `simrun record`
// calls it. They are made of client-go, so that what is recorded is what controllers
// get; this is the only package of traces that imports Kubernetes.
//
// No header of a request is looked at, so no credentials are. Of objects, the namespace, name,
// UID, resourceVersion, spec.nodeName and the labels that requests select by are kept;
// the rest becomes a digest under a key that is never written, from which contents
// cannot be guessed. Secrets have no digest at all.
//
//   - recorder.go: the recorder, and the transports
//   - encoding.go: JSON, protobuf and CBOR
//   - response.go: responses that end
//   - watch.go: watches
//   - informers.go: the informers and the client that lists
package recorder
