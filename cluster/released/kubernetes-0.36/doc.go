// Package etcd36 is etcd 3.6.16 as released, for members of the harness to run below the contemporary
// Kubernetes 0.36.6: the older of the two maintained minor releases of each.
//
// It is a module of its own, so that modules of those releases are in its build, and the newer ones in
// the project's. The target is the project's, cluster/target/kubernetes, which compiles with both.
// `simrun --target kubernetes-0.36` builds the command worker below, and executes the runs with it.
//
//   - release.go: the peculiarities of the release of etcd
//   - log.go: how its write-ahead log is read
package etcd36
