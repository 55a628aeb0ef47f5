// Package etcd36 is etcd 3.6.16 as it was shipped, for members of the harness to run below Kubernetes
// 0.36.6, which is contemporary with it: the older of the two minor releases of each that are maintained.
//
// It is a module of its own, so that modules of those releases are in its build, and the newer ones in
// the project's. The target is the one of the project, cluster/target/kubernetes, which compiles with
// both. `simrun --target kubernetes-0.36` builds the command worker below, and has it do the runs.
//
//   - release.go: what the release of etcd has in its own way
//   - log.go: how its write-ahead log is read
package etcd36
