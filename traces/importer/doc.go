// Package importer answers one question: how do observations of a real cluster become
// a history?
//
// [Import] reads files, the arguments of `simrun import`. Each request, watch and
// change of any source is added to one [Recording], and [Recording.History] combines
// them: one clock, one set of IDs, and the ground truth that the oracle judges by.
// Package recorder adds what passes through a client's transport.
//
// The files:
//
//   - importer.go: the arguments, and the sources in the order in which they are read
//   - audit.go: the audit log of an API server
//   - kubectl.go: `kubectl get --watch --output-watch-events`
//   - etcdctl.go, etcd_keys.go: `etcdctl get` and `etcdctl watch`
//   - merge.go: a history that was recorded or imported before
//   - values.go, splitter.go: the JSON objects of a file, with their positions
//
// The Kubernetes API in the terms of package model:
//
//   - request.go, selector.go, status.go: what is requested, and how a request failed
//   - object.go: objects, lists and events, reduced to their metadata and a digest
//   - stored.go: the same of what etcd stores, in JSON, protobuf or CBOR
//
// The history:
//
//   - recording.go: what sources add, what only a simulation knows, and the limits
//   - history.go, operations.go, finish.go: the history made from it
//   - truth.go, contents.go: what etcd committed, as far as any source observed it
//   - infer.go: changes that no source observed but that must have happened
//
// # The truth
//
// For the revisions that the output of etcd covers, it is the truth. For others the truth is the
// union of what all sources observed, and of inferred changes, which no source observed: each is
// added, without content, at a revision where it contradicts no source, if there is one.
//
// docs/real-clusters.md says how a history is judged by it, what each source shows and cannot
// show, and by whose clock.
package importer
