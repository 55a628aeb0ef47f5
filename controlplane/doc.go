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
//   - kubelet.go: a node. containers.go: what runs there, and what befalls it; mount.go: the volumes that a pod waits for.
//   - provisioner.go: the provisioner of volumes.
//   - start.go: all of them, as programs of a simulated cluster.
//   - power.go: a node that loses power.
//   - usage.go: what users and administrators do in a run, drawn from the seed.
//   - settings.go: how these programs are configured, drawn as well.
//   - user.go: a program that acts as users do; user_workloads.go, user_jobs.go, user_cluster.go, user_volumes.go, user_custom.go, user_controlled.go
//     and user_finalizers.go: their actions.
//   - gates.go: a program that removes the scheduling gates of pods.
//   - upgrade.go: a new image for all workloads; fill.go: pods that fill all nodes.
//   - webhooks.go: a program that serves admission and conversion webhooks; webhook_service.go: how API servers reach it, or those of an operator.
//   - extender.go: a program that schedulers ask about each pod.
//   - prepare.go: the objects that exist before users begin.
//   - administrator.go: what administrators do to nodes and leaders.
//   - operator.go: a program that reads and writes secrets, configuration and a custom resource.
//   - dependents.go: a program that creates objects with owner references.
//   - observer.go: a program with informers, and a check that they are up to date after healing.
//   - notified.go: rules for the notifications of informers.
//   - store.go: the states that etcd has held.
//   - pods.go: all pods that have existed, and the changes of their labels.
//   - rules.go: rules for each of these states.
//   - bound.go: which scheduler has bound a pod.
//   - marked.go: which request has set an object's deletionTimestamp.
//   - informed.go: what the informers of a controller manager had observed of a pod.
//   - views.go: what a life of a program knew of the writes of others.
//   - rules_rollout.go: rules for surge and for extra pods; rules_replace.go: for availability during rollouts; rules_partition.go: for partitions of stateful sets.
//   - rules_job.go: rules for jobs; rules_cron.go: for cron jobs; rules_budget.go: for evictions; rules_node.go: for nodes and their leases.
//   - rules_gc.go: rules for deletions by the garbage collector.
//   - rules_leader.go: rules for leader election.
//   - rules_quota.go: rules for quotas; rules_service.go: for the addresses and ports of services;
//     rules_volume.go: for volumes and claims.
//   - twins.go: two pods of the same name must not run at the same time.
//   - settled.go, settled_workloads.go, settled_cron.go: the state that the control plane must converge to after healing;
//     byhand.go: what has to be done by hand for that.
//   - settled_custom.go: what must become of custom objects; settled_volumes.go: of volumes and claims; settled_elsewhere.go: what must converge while nodes are off
//     or finalizers of users stay.
//   - overdue.go and overdue_*.go: known causes why it has not.
//   - findings.go: which of these are findings, and whether their fix is switched on.
//   - room.go, placement.go: which pods cannot be expected to run, because no node has room for them, or because other pods exclude them.
//   - lifecycle.go: how controller managers and schedulers may end.
package controlplane
