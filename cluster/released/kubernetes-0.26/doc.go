// Package kubernetes is the target that runs the watch cache of Kubernetes 0.26.15, the last
// release of its line, as released.
//
// It is a module of its own, so that k8s.io modules of that release are in its build, and their
// newer ones in the project's. The rest of the harness is the project's. `simrun --target
// kubernetes-0.26` builds the command worker below, and executes the runs with it.
// docs/released-versions.md describes the results.
//
//   - target.go: the target
//   - server.go: one API server, wired as kube-apiserver 0.26 wires its storage of pods
//   - release.go: the peculiarities of the release
//   - process.go: the process-wide state of its libraries
//   - informer.go: an informer of its client-go
//   - watchers.go: how many watches its cache has registered
package kubernetes
