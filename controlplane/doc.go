// Package controlplane runs Kubernetes' own control plane in the simulation, unmodified:
// kube-apiserver, kube-controller-manager and kube-scheduler of v1.37.2 over real etcd, with
// nodes that are simulated. It is a module of its own, because it compiles all of Kubernetes.
//
// Its tests are scenarios for package simtest: `make controlplane` runs them.
//
//   - apiserver.go: kube-apiserver.
//   - plugin.go: the KMS plugin beside each of them.
//   - kms.go: the key management service behind those.
//   - encryption.go: what is encrypted at rest, and when keys change.
//   - manager.go: kube-controller-manager.
//   - scheduler.go: kube-scheduler.
//   - kubelet.go: a node.
//   - start.go: all of them, as programs of a simulated cluster.
//   - workload.go: what users do.
//   - operator.go: a program that reads and writes secrets and configuration.
//   - store.go: the states that etcd has held.
//   - rules.go: what must be true of all of them.
//   - twins.go: what must be true of what has run on nodes.
//   - settled.go: what must be true once everything has healed.
package controlplane
