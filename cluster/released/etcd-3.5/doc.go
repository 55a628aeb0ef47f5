// Package etcd35 is etcd 3.5.12 as released, for members of the harness to run.
//
// It is a module of its own, so that go.etcd.io modules of that release are in its build, with
// their own raft and database, and the newer ones in the project's. The API servers over it are
// those of the package for Kubernetes 0.26, which is contemporary with that etcd; they are built
// with its client here. `simrun --target etcd-3.5` builds the command worker below, and executes
// the runs with it. docs/released-versions.md describes the results.
//
//   - release.go: the peculiarities of the release
//   - log.go: how its write-ahead log is read
//   - random.go: the source of raft's election timeouts
//   - restore.go: how a member is restored from a snapshot
//   - streams.go: how watch streams are intercepted, for which it has no setting
package etcd35
