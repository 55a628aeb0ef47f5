// Package record answers one question: what passes between a client and the API
// servers that it asks?
//
// A [Recorder] wraps the transports of clients. It changes nothing: requests and
// answers pass as they are and at their own pace, and what cannot be recorded passes
// all the same. With client-go:
//
//	recorder := record.New("pods", record.Options{})
//	config.Wrap(recorder.Wrap("apiserver-a", "my-controller"))
//	...
//	header, history, notes, err := recorder.History()
//
// Headers are not looked at, so no credentials are. Of objects, the namespace, name,
// UID, resourceVersion, spec.nodeName and the labels that requests select by are kept;
// the rest becomes a digest under a key that is never written, from which contents
// cannot be guessed. Secrets have no digest at all.
//
//   - recorder.go: the recorder, and the transports
//   - answer.go: answers that end
//   - watch.go: watches
package record
