// Package etcd35 is etcd 3.5.12 as it was shipped, for members of the harness to run.
//
// It is a module of its own, so that go.etcd.io modules of that release are in its
// build, with their own raft and their own database, and the newer ones in the
// project's. Over it run the API servers of the package for Kubernetes 0.26, which that
// etcd is contemporary with; they are built with its client here. `simrun --target
// etcd-3.5` builds the command worker below, and has it do the runs.
// docs/released-versions.md tells what is found.
//
//   - release.go: what the release has in its own way
//   - log.go: how its write-ahead log is read
//   - random.go: where its raft draws the timeouts of elections from
//   - restore.go: how a member is restored from a snapshot
//   - streams.go: how watch streams are intercepted, for which it has no setting
package etcd35
