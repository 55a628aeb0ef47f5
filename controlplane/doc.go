// Package controlplane runs Kubernetes' own control plane in the simulation, unmodified:
// kube-apiserver, kube-controller-manager and kube-scheduler of v1.37.2 over real etcd, with
// nodes that are simulated. It is a module of its own, because it compiles all of Kubernetes.
//
// Its tests are scenarios for package simtest: `make controlplane` runs them.
//
//   - apiserver.go: kube-apiserver.
//   - audit.go, audit_requests.go: the audit logs of kube-apiserver against what clients saw.
//   - manager.go: kube-controller-manager.
//   - scheduler.go: kube-scheduler.
//   - kubelet.go: a node.
//   - start.go: all of them, as programs of a simulated cluster.
//   - power.go: a node that loses its power.
//   - usage.go: what people do in a run, drawn from the seed.
//   - user.go: a program that does what users do; user_workloads.go, user_cluster.go and user_controlled.go: what that is.
//   - upgrade.go: another image for everything; fill.go: pods for all the room that is left.
//   - webhooks.go: a program that API servers ask for admission and conversion.
//   - prepare.go: what there is before people begin.
//   - administrator.go: what administrators do to nodes and leaders.
//   - operator.go: a program that reads and writes secrets, configuration and a custom resource.
//   - dependents.go: a program that makes what belongs to other objects.
//   - observer.go: a program with informers, and what must be true of them once everything has healed.
//   - notified.go: what must be true of all that an informer tells.
//   - store.go: the states that etcd has held.
//   - rules.go: what must be true of all of them.
//   - bound.go: which scheduler has bound a pod.
//   - marked.go: who has marked an object for deletion.
//   - informed.go: what the informers of a controller manager knew of a pod.
//   - views.go: what a life of a program knew of what others had done.
//   - rules_rollout.go: how many pods there may be; rules_replace.go: how many must stay, while others take their place.
//   - rules_job.go: what must be true of jobs; rules_budget.go: of evictions; rules_node.go: of nodes and leases.
//   - rules_gc.go: what must be true of what the garbage collector deletes.
//   - rules_leader.go: what must be true of those that lead.
//   - rules_quota.go: what must be true of quotas.
//   - twins.go: what must be true of what has run on nodes.
//   - settled.go, settled_workloads.go: what must be true once everything has healed.
//   - overdue.go: why it is not, if that is known.
//   - findings.go: which of that is a finding, and is fixed.
//   - room.go: what cannot be wanted then, as there is no room for it.
package controlplane
