// Package importer answers one question: how does what was seen of a real cluster
// become a history?
//
// [Import] reads files, the arguments of `simrun import`. Whatever its source, each
// request, watch and change is added to one [Recording], and [Recording.History] puts
// them together: one clock, one set of IDs, and the truth that the oracle judges by.
// Package recorder adds what passes through a client's transport.
//
// The files:
//
//   - importer.go: the arguments, and the sources in the order in which they are read
//   - audit.go, audit_request.go: the audit log of an API server
//   - kubectl.go: `kubectl get --watch --output-watch-events`
//   - etcdctl.go, etcd_keys.go: `etcdctl get` and `etcdctl watch`
//   - merge.go: a history that was recorded or imported before
//   - values.go, splitter.go: the JSON objects of a file, with their positions
//
// The Kubernetes API in the terms of package model:
//
//   - request.go, selector.go, status.go: what a request asks for, and how it failed
//   - object.go, protobuf.go, cbor.go: objects, lists and events, reduced to their metadata
//     and a digest
//
// The history:
//
//   - recording.go: what sources add, what only a simulation knows, and the limits
//   - history.go, operations.go, finish.go: the history that it becomes
//   - truth.go, contents.go: what etcd committed, as far as anybody saw it
//   - infer.go: what must have happened although nobody saw it
//
// # The truth
//
// Where the output of etcd covers a range of revisions, it is the truth there. Elsewhere the
// truth is the union of what all sources saw, and of changes that nobody saw and that must have
// been: each is added, without content, at a revision where it contradicts nobody, if there is one.
//
// docs/real-clusters.md says how a history is judged by it, what each source shows and cannot
// tell, and by whose clock.
package importer
