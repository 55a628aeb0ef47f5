package mutant

import "slices"

// The modules of Kubernetes' control plane, and its target.
const (
	kubernetes   = "k8s.io/kubernetes"
	controlPlane = "controlplane"
)

// The edited controllers.
const (
	replicaSetFile  = "pkg/controller/replicaset/replica_set.go"
	daemonSetFile   = "pkg/controller/daemon/daemon_controller.go"
	jobFile         = "pkg/controller/job/job_controller.go"
	collectorFile   = "pkg/controller/garbagecollector/garbagecollector.go"
	sharedInformer  = "tools/cache/shared_informer.go"
	leaderElection  = "tools/leaderelection/leaderelection.go"
	informerControl = "tools/cache/controller.go"
)

// controlPlaneMutants are edits of Kubernetes' control plane. Those with an odd number after the
// letters bring back a past bug; the others are mistakes that such code could have.
var controlPlaneMutants = of(controlPlane, kubernetes, []Mutant{
	{
		Name: "IN01", Source: "kubernetes/kubernetes #113763, #113985", File: "pkg/scheduler/eventhandlers.go",
		Summary: "The scheduler starts before its caches have synced.",
		Anchor:  "			if !handler.HasSynced() {\n", Replacement: "			if false && !handler.HasSynced() {\n",
	},
	{
		Name: "IN03", Source: "kubernetes/kubernetes #136509", Module: clientGo, File: sharedInformer,
		Summary:     "An informer that resyncs before its handlers run blocks for ever.",
		Anchor:      "	for !p.listenersStarted && len(p.listeners) > 0 {\n",
		Replacement: "	for false && !p.listenersStarted && len(p.listeners) > 0 {\n",
	},
	{
		Name: "IN05", Source: "kubernetes/kubernetes #90581, #90825", Module: clientGo, File: queueFile,
		Summary: "The queue of an informer is closed without its lock, so that a waiting consumer may miss it.",
		Anchor:  "	f.lock.Lock()\n	defer f.lock.Unlock()\n	f.closed = true\n", Replacement: "	f.closed = true\n",
		More: []Edit{{Anchor: "	f.lock.Lock()\n	defer f.lock.Unlock()\n	return f.closed\n", Replacement: "	return f.closed\n"}},
	},
	{
		Name: "IN07", Source: "kubernetes/kubernetes #131266", Module: clientGo, File: reflectorFile,
		Summary: "The reflector does not stop a watch that it no longer needs.",
		Anchor:  "		if stopWatcher {\n			w.Stop()\n		}\n", Replacement: "		_ = stopWatcher\n",
	},
	{
		Name: "IN09", Source: "kubernetes/kubernetes #124588", Module: clientGo, File: leaderElection,
		Summary:     "A leader that releases its lease waits for the answer without a timeout.",
		Anchor:      "	timeoutCtx, timeoutCancel := context.WithTimeout(ctx, le.config.RenewDeadline)\n	defer timeoutCancel()\n	return le.tryRelease(timeoutCtx)\n",
		Replacement: "	return le.tryRelease(ctx)\n",
		// The programs' own timeout for each request of an election hides it.
		More: []Edit{{File: "tools/leaderelection/resourcelock/interface.go", Anchor: "	config.Timeout = timeout\n", Replacement: ""}},
	},
	{
		Name: "IN11", Source: "kubernetes/kubernetes #23731", Module: clientGo, File: leaderElection,
		Summary:     "A candidate acts as the leader before its write of the lease has succeeded.",
		Anchor:      "		logger.Error(err, \"Failed to update lease\", \"lock\", le.config.Lock.Describe())\n		return false\n",
		Replacement: "		logger.Error(err, \"Failed to update lease\", \"lock\", le.config.Lock.Describe())\n		le.setObservedRecord(&leaderElectionRecord)\n		return true\n",
	},
	{
		Name: "IN13", Source: "kubernetes/kubernetes #27004, #27435", Module: clientGo, File: informerControl,
		Summary: "An informer that relists does not tell its handlers of deletions.",
		Anchor:  "	for _, objToDelete := range deletions {\n", Replacement: "	for _, objToDelete := range deletions[:0] {\n",
	},
	{
		Name: "IN15", Source: "falcosecurity/k8s-metacollector #188", Module: clientGo, File: sharedInformer,
		Summary:     "An informer takes a status update for a resync.",
		Anchor:      "			isSync = accessor.GetResourceVersion() == oldAccessor.GetResourceVersion()\n",
		Replacement: "			isSync = accessor.GetGeneration() == oldAccessor.GetGeneration()\n",
	},
	{
		Name: "CT01-rs", Source: "kubernetes/kubernetes #69376, #82572", File: replicaSetFile,
		Summary:     "Expectations of a deleted replica set hold up the one recreated under its name.",
		Anchor:      "	// Delete expectations for the ReplicaSet so if we create a new one with the same name it starts clean\n	rsc.expectations.DeleteExpectations(logger, key)\n",
		Replacement: "",
	},
	{
		Name: "CT01-ds", Source: "kubernetes/kubernetes #69376, #91915", File: daemonSetFile,
		Summary:     "Expectations of a deleted daemon set hold up the one recreated under its name.",
		Anchor:      "	// Delete expectations for the DaemonSet so if we create a new one with the same name it starts clean\n	dsc.expectations.DeleteExpectations(logger, key)\n",
		Replacement: "",
	},
	{
		Name: "CT01-job", Source: "kubernetes/kubernetes #69376", File: jobFile,
		Summary:     "Expectations of a deleted job hold up the one recreated under its name.",
		Anchor:      "	// Delete expectations for the Job so a replacement with the same name starts clean.\n	jm.expectations.DeleteExpectations(logger, key)\n",
		Replacement: "",
	},
	{
		Name: "CT03", Source: "kubernetes/kubernetes #78972, #78974", File: daemonSetFile,
		Summary:     "A daemon set deletes a terminating pod again, and expects a second deletion.",
		Anchor:      "			if pod.DeletionTimestamp != nil {\n				continue\n			}\n			podsToDelete = append(podsToDelete, pod.Name)\n",
		Replacement: "			podsToDelete = append(podsToDelete, pod.Name)\n",
	},
	{
		Name: "CT05", Source: "kubernetes/kubernetes #63465, #77773", File: daemonSetFile,
		Summary:     "A daemon set does not count a deletionTimestamp as the deletion that it expects.",
		Anchor:      "		// until the kubelet actually deletes the pod.\n		dsc.deletePod(logger, curPod)\n		return\n",
		Replacement: "		// until the kubelet actually deletes the pod.\n",
	},
	{
		Name: "CT07", Source: "kubernetes/kubernetes #136812", File: "pkg/controller/statefulset/stateful_pod_control.go",
		Summary:     "A pod that is already gone keeps a stateful set from deleting others.",
		Anchor:      "	if err := spc.objectMgr.DeletePod(pod); err != nil {\n		if !apierrors.IsNotFound(err) {\n			spc.recordPodEvent(\"delete\", set, pod, err)\n			return err\n		}\n	}\n",
		Replacement: "	if err := spc.objectMgr.DeletePod(pod); err != nil {\n		spc.recordPodEvent(\"delete\", set, pod, err)\n		return err\n	}\n",
	},
	{
		Name: "CT09", Source: "kubernetes/kubernetes #29735, #59212", File: "pkg/controller/deployment/sync.go",
		Summary:     "A deployment takes the replica set of its predecessor of the same name for its own.",
		Anchor:      "controllerRef != nil && controllerRef.UID == d.UID && deploymentutil.EqualIgnoreHash",
		Replacement: "controllerRef != nil && deploymentutil.EqualIgnoreHash",
	},
	{
		Name: "CT11", Source: "kubernetes/kubernetes #130103, #130333", File: jobFile,
		Summary:     "A finished job gets another pod while its controller has not observed that it has finished.",
		Anchor:      "	if _, ok := jm.finishedJobExpectations.Load(job.UID); ok {\n",
		Replacement: "	if _, ok := jm.finishedJobExpectations.Load(job.UID); ok && false {\n",
	},
	{
		Name: "CT11-unmasked", Source: "kubernetes/kubernetes #130103, #130333", File: jobFile,
		Summary:     "The same, by a controller that does not wait for its own writes either.",
		Anchor:      "	if _, ok := jm.finishedJobExpectations.Load(job.UID); ok {\n",
		Replacement: "	if _, ok := jm.finishedJobExpectations.Load(job.UID); ok && false {\n",
		More:        []Edit{{Anchor: "	if err := jm.consistencyStore.EnsureReady(jobNamespacedName); err != nil {\n", Replacement: "	if err := jm.consistencyStore.EnsureReady(jobNamespacedName); err != nil && false {\n"}},
	},
	{
		Name: "CT13", Source: "kubernetes/kubernetes #108645, #108752", File: jobFile,
		Summary:     "The finalizer of an orphaned job pod is never removed.",
		Anchor:      "	jm.finishedJobExpectations.Delete(jobObj.UID)\n	jm.enqueueLabelSelector(jobObj)\n",
		Replacement: "	jm.finishedJobExpectations.Delete(jobObj.UID)\n",
	},
	{
		Name: "CT13-once", Source: "kubernetes/kubernetes #141346, #141329", File: jobFile,
		Summary:     "The removal of such a finalizer is not retried.",
		Anchor:      "			logger.Error(err, \"syncing orphan pod failed\", \"pod\", klog.KObj(pod))\n			jm.enqueueOrphanPod(pod, true)\n",
		Replacement: "			logger.Error(err, \"syncing orphan pod failed\", \"pod\", klog.KObj(pod))\n",
	},
	{
		Name: "CT15", Source: "kubernetes/kubernetes #66840",
		File:        "pkg/controller/ttlafterfinished/ttlafterfinished_controller.go",
		Summary:     "The TTL controller deletes a job because a predecessor of its name, or its own older state, had expired.",
		Anchor:      "	fresh, err := tc.client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})\n",
		Replacement: "	fresh := job\n",
		More:        []Edit{{Anchor: "		Preconditions:     &metav1.Preconditions{UID: &fresh.UID},\n", Replacement: ""}},
	},
	{
		Name: "CT19", Source: "kubernetes/kubernetes #65200, #92743", File: collectorFile,
		Summary:     "An owner is taken for absent because another reference to its UID is wrong.",
		Anchor:      "	absentOwnerCacheKey := objectReference{OwnerReference: ownerReferenceCoordinates(reference)}\n",
		Replacement: "	absentOwnerCacheKey := objectReference{OwnerReference: metav1.OwnerReference{UID: reference.UID}}\n",
		More:        []Edit{{Anchor: "	absentOwnerCacheKey.Namespace = item.identity.Namespace\n", Replacement: ""}},
	},
	{
		Name: "CT21", Source: "kubernetes/kubernetes #71450, #74747",
		File:        "pkg/controller/resourcequota/resource_quota_controller.go",
		Summary:     "The quota controller waits without a timeout for a removed resource, with all its workers stopped.",
		Anchor:      "			syncCtx, cancel := context.WithTimeout(ctx, period)\n",
		Replacement: "			syncCtx, cancel := context.WithCancel(ctx)\n",
	},
	{
		Name: "CT23", Source: "kubernetes/kubernetes #138698",
		File:        "pkg/controller/nodelifecycle/node_lifecycle_controller.go",
		Summary:     "Nodes are declared unreachable because of stale leases in a cache.",
		Anchor:      "				if liveLease.ResourceVersion != nodeHealthLeaseRV {\n",
		Replacement: "				if false && liveLease.ResourceVersion != nodeHealthLeaseRV {\n",
	},
	{
		Name: "CT25", Source: "kubernetes/kubernetes #82149, #82152", File: "pkg/controller/disruption/disruption.go",
		Summary:     "The disruption controller overwrites an eviction that it has not observed.",
		Anchor:      "	// If this update fails, don't retry it. Allow the failure to get handled &\n	// retried in `processNextWorkItem()`.\n",
		Replacement: "	if latest, err := dc.kubeClient.PolicyV1().PodDisruptionBudgets(pdb.Namespace).Get(ctx, pdb.Name, metav1.GetOptions{}); err == nil {\n		pdb.ResourceVersion = latest.ResourceVersion\n	}\n",
	},
	{
		Name: "SC01", Source: "kubernetes/kubernetes #106361, #110925", File: "pkg/scheduler/backend/cache/cache.go",
		Summary:     "The scheduler forgets a pod that it has bound if it does not observe the binding within 30 seconds.",
		Anchor:      "	return cache.addPod(logger, pod, true)\n",
		Replacement: "	time.AfterFunc(30*time.Second, func() { _ = cache.ForgetPod(logger, pod) })\n	return cache.addPod(logger, pod, true)\n",
	},
	{
		Name: "SC05", Source: "kubernetes/kubernetes #120413", File: "pkg/scheduler/backend/queue/active_queue.go",
		Summary:     "The scheduler drops the events that arrive while it tries to schedule a pod.",
		Anchor:      "		ev, ok := e.Value.(*clusterEvent)\n		if !ok {\n			// A pod, must stop pruning.\n			break\n		}\n",
		Replacement: "		ev, ok := e.Value.(*clusterEvent)\n		for !ok && e != nil {\n			if e = e.Next(); e != nil {\n				ev, ok = e.Value.(*clusterEvent)\n			}\n		}\n		if e == nil {\n			break\n		}\n",
	},
	{
		Name: "SC07", Source: "kubernetes/kubernetes #102339, #109236", File: "pkg/scheduler/backend/queue/nominator.go",
		Summary:     "The scheduler keeps a nomination for a pod that is gone or has been placed.",
		Anchor:      "	if npm.podLister != nil {\n		// If the pod was removed or",
		Replacement: "	if npm.podLister != nil && false {\n		// If the pod was removed or",
	},
	{
		Name: "RS02", File: replicaSetFile,
		Summary:     "A replica set creates pods again before it has observed their creation.",
		Anchor:      "	rsNeedsSync := rsc.expectations.SatisfiedExpectations(logger, key)\n",
		Replacement: "	rsNeedsSync := true\n",
		More:        []Edit{{Anchor: "	if err := rsc.consistencyStore.EnsureReady(rsNamespacedName); err != nil {\n", Replacement: "	if err := rsc.consistencyStore.EnsureReady(rsNamespacedName); err != nil && false {\n"}},
	},
	{
		Name: "DS02", File: daemonSetFile,
		Summary:     "A daemon set creates pods again before it has observed their creation.",
		Anchor:      "	if !dsc.expectations.SatisfiedExpectations(logger, dsKey) {\n",
		Replacement: "	if false && !dsc.expectations.SatisfiedExpectations(logger, dsKey) {\n",
		More:        []Edit{{Anchor: "	if err := dsc.consistencyStore.EnsureReady(dsNamespacedName); err != nil {\n", Replacement: "	if err := dsc.consistencyStore.EnsureReady(dsNamespacedName); err != nil && false {\n"}},
	},
	{
		Name: "DP02", File: "pkg/controller/deployment/util/deployment_util.go",
		Summary:     "A deployment scales up without counting the replicas of its other replica sets.",
		Anchor:      "		currentPodCount := GetReplicaCountForReplicaSets(allRSs)\n		maxTotalPods :=",
		Replacement: "		currentPodCount := *(newRS.Spec.Replicas)\n		maxTotalPods :=",
	},
	{
		Name: "SS04", File: "pkg/controller/statefulset/stateful_set_utils.go",
		Summary: "A stateful set creates its pods in parallel.",
		Anchor:  "	return set.Spec.PodManagementPolicy == apps.ParallelPodManagement\n", Replacement: "	return true\n",
	},
	{
		Name: "JB04", File: jobFile,
		Summary:     "A job creates pods again before it has observed their creation.",
		Anchor:      "	satisfiedExpectations := jm.expectations.SatisfiedExpectations(logger, key)\n",
		Replacement: "	satisfiedExpectations := true\n",
		More:        []Edit{{Anchor: "	if err := jm.consistencyStore.EnsureReady(jobNamespacedName); err != nil {\n", Replacement: "	if err := jm.consistencyStore.EnsureReady(jobNamespacedName); err != nil && false {\n"}},
	},
	{
		Name: "JB02", File: jobFile,
		Summary: "A job counts finished pods twice.",
		Anchor:  "			} else if !jobCtx.uncounted.succeeded.Has(pod.UID) {\n", Replacement: "			} else {\n",
	},
	{
		Name: "QT02", Module: apiserver, File: "pkg/admission/plugin/resourcequota/resource_access.go",
		Summary:     "API servers write the usage of a quota without a resourceVersion, and lose concurrent updates.",
		Anchor:      "	updatedQuota, err := e.client.CoreV1().ResourceQuotas(newQuota.Namespace).UpdateStatus(context.TODO(), newQuota, metav1.UpdateOptions{})\n",
		Replacement: "	newQuota.ResourceVersion = \"\"\n	updatedQuota, err := e.client.CoreV1().ResourceQuotas(newQuota.Namespace).UpdateStatus(context.TODO(), newQuota, metav1.UpdateOptions{})\n",
	},
	{
		Name: "GC02", File: collectorFile,
		Summary: "Dependents of an owner that was recreated under the same name are never collected.",
		Anchor:  "	if owner.GetUID() != reference.UID {\n", Replacement: "	if false && owner.GetUID() != reference.UID {\n",
	},
	{
		Name: "GC04", File: collectorFile,
		Summary:     "A dependent is collected while its owner exists.",
		Anchor:      "	case len(solid) != 0:\n		logger.V(2).Info(\"item has at least one existing owner",
		Replacement: "	case len(solid) != 0 && len(solid) != 1:\n		logger.V(2).Info(\"item has at least one existing owner",
	},
	{
		Name: "KA02", Module: apiserver, File: "pkg/registry/generic/registry/store.go",
		Summary:     "kube-apiserver accepts an update with an outdated resourceVersion.",
		Anchor:      "			if newResourceVersion != existingResourceVersion {\n",
		Replacement: "			if false && newResourceVersion != existingResourceVersion {\n",
	},
	{
		Name: "SC02", File: "pkg/scheduler/backend/cache/cache.go",
		Summary:     "The scheduler does not count pods whose binding is in flight.",
		Anchor:      "so can't be assumed\", key, klog.KObj(pod))\n	}\n\n	return cache.addPod(logger, pod, true)\n",
		Replacement: "so can't be assumed\", key, klog.KObj(pod))\n	}\n\n	return nil\n",
	},
	{
		Name: "SS02", File: "pkg/controller/statefulset/stateful_pod_control.go",
		Summary:     "A stateful set replaces a pod before its containers have ended.",
		Anchor:      "	return om.client.CoreV1().Pods(pod.Namespace).Delete(context.TODO(), pod.Name, metav1.DeleteOptions{})\n",
		Replacement: "	return om.client.CoreV1().Pods(pod.Namespace).Delete(context.TODO(), pod.Name, *metav1.NewDeleteOptions(0))\n",
	},
	{
		Name: "NS02", File: "pkg/controller/namespace/deletion/namespaced_resources_deleter.go",
		Summary:     "A namespace is removed before its contents.",
		Anchor:      "	if estimate > 0 {\n		return &ResourcesRemainingError",
		Replacement: "	if estimate > 0 && false {\n		return &ResourcesRemainingError",
	},
	{
		Name: "DS04", File: "pkg/controller/daemon/update.go",
		Summary:     "During a rollout, a daemon set replaces its pods on all nodes at once.",
		Anchor:      "		remainingUnavailable := maxUnavailable - numUnavailable\n",
		Replacement: "		remainingUnavailable := len(candidatePodsToDelete)\n",
	},
	{
		Name: "SS06", File: statefulSetFile,
		Summary:     "During a rollout, a stateful set does not wait for the pods that it has replaced.",
		Anchor:      "		if isUnavailable(pod, set.Spec.MinReadySeconds, now) {\n			unavailablePods++\n",
		Replacement: "		if false && isUnavailable(pod, set.Spec.MinReadySeconds, now) {\n			unavailablePods++\n",
	},
	{
		Name: "DP04", File: "pkg/controller/deployment/rolling.go",
		Summary:     "During a rollout, a deployment deletes all old pods at once.",
		Anchor:      "	totalScaleDownCount := availablePodCount - minAvailable\n",
		Replacement: "	totalScaleDownCount := availablePodCount\n",
	},
	{
		Name: "DP06", File: "pkg/controller/deployment/sync.go",
		Summary:     "A deployment deletes old replica sets that still have pods.",
		Anchor:      "		if rs.Status.Replicas != 0 || *(rs.Spec.Replicas) != 0 || rs.Generation",
		Replacement: "		if rs.Generation",
	},
	{
		Name: "JB06", File: jobFile,
		Summary:     "A suspended job keeps one of its pods.",
		Anchor:      "		podsToDelete := activePodsForRemoval(job, jobCtx.activePods, int(active))\n		jm.expectations",
		Replacement: "		podsToDelete := activePodsForRemoval(job, jobCtx.activePods, max(int(active)-1, 0))\n		jm.expectations",
	},
	{
		Name: "TE02", File: "pkg/controller/tainteviction/taint_eviction.go",
		Summary: "Pods are evicted from a node that has recovered in time.",
		Anchor:  "	if len(taints) == 0 {\n		tc.cancelWorkWithEvent(logger, podNamespacedName)\n	}\n", Replacement: "",
		More: []Edit{
			{Anchor: "cancelling any scheduled deletion\", \"pod\", podNamespacedName.String())\n		tc.cancelWorkWithEvent(logger, podNamespacedName)\n", Replacement: "cancelling any scheduled deletion\", \"pod\", podNamespacedName.String())\n"},
			{Anchor: "			tc.cancelWorkWithEvent(logger, types.NamespacedName{Namespace: pods[i].Namespace, Name: pods[i].Name})\n", Replacement: "			_ = pods[i]\n"},
		},
	},
	{
		Name: "SC04", File: "pkg/scheduler/schedule_one.go",
		Summary:     "The scheduler reserves room on a node for a pod whose binding has failed.",
		Anchor:      "		return nil\n	}\n	return sched.Cache.ForgetPod(logger, assumedPodInfo.Pod)\n",
		Replacement: "		return nil\n	}\n	return nil\n",
	},
	{
		Name: "SC06", File: "pkg/scheduler/eventhandlers.go",
		Summary:     "The scheduler does not retry pending pods when a bound pod is removed.",
		Anchor:      "Scheduler cache RemovePod failed\", \"pod\", klog.KObj(pod))\n	}\n\n	sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, framework.EventAssignedPodDelete, pod, nil, nil)\n",
		Replacement: "Scheduler cache RemovePod failed\", \"pod\", klog.KObj(pod))\n	}\n",
	},
	{
		Name: "GC06", File: collectorFile,
		Summary:     "An object that is deleted in the foreground is removed before its dependents.",
		Anchor:      "	blockingDependents := item.blockingDependents()\n	if len",
		Replacement: "	blockingDependents := item.blockingDependents()[:0]\n	if len",
	},
	{
		Name: "KA04", Module: apiserver, File: "pkg/registry/generic/registry/store.go",
		Summary: "kube-apiserver removes an object that still has a finalizer.",
		Anchor:  "	if len(newMeta.GetFinalizers()) > 0 {\n", Replacement: "	if len(newMeta.GetFinalizers()) > 1 {\n",
	},
	{
		Name: "ES02", File: "pkg/controller/endpointslice/endpointslice_controller.go",
		Summary:     "Endpoint slices are reconciled from a cache that is older than the last write.",
		Anchor:      "	if c.endpointSliceTracker.StaleSlices(service, endpointSlices) {\n",
		Replacement: "	if false && c.endpointSliceTracker.StaleSlices(service, endpointSlices) {\n",
	},
	{
		Name: "VC02", Summary: "A claim is taken for gone that the volume controller has not observed yet.",
		File:        "pkg/controller/volume/persistentvolume/pv_controller.go",
		Anchor:      "			if volume.Status.Phase != v1.VolumeReleased && volume.Status.Phase != v1.VolumeFailed {\n				obj, err =",
		Replacement: "			if false {\n				obj, err =",
	},
	{
		Name: "VC04", Summary: "A claim loses its protection while a pod uses it that the controller has not observed.",
		File:   "pkg/controller/volume/pvcprotection/pvc_protection_controller.go",
		Anchor: "	return c.askAPIServer(ctx, pvc, lazyLivePodList, podUsage)\n", Replacement: "	return false, nil\n",
	},
	{
		Name: "SC08", Summary: "The scheduler places several pods that use a claim for one pod.",
		File:   "pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go",
		Anchor: "		if pl.sharedLister.StorageInfos().IsPVCUsedByPods(key) {\n			// There", Replacement: "		if false && pl.sharedLister.StorageInfos().IsPVCUsedByPods(key) {\n			// There",
	},
	{
		Name: "SS08", Summary: "A stateful set does not recreate a claim for which one of its pods waits.",
		Source: "kubernetes/kubernetes #113139, #113270", File: statefulSetFile,
		Anchor: "	if isPending(replicas[i]) {\n", Replacement: "	if false && isPending(replicas[i]) {\n",
	},
})

// ControlPlane lists the mutants of Kubernetes' control plane in a fixed order, followed by the fixes of its findings. They are
// not part of All: they are built into another binary.
func ControlPlane() []Mutant {
	return slices.Concat(controlPlaneMutants, controlPlaneFixes, jobFixes, serverFixes)
}
