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
		Name: "IN01", Summary: "The scheduler starts before its caches have synced.",
		Source: "kubernetes/kubernetes #113763, #113985", File: "pkg/scheduler/eventhandlers.go",
		Anchor: "			if !handler.HasSynced() {\n", Replacement: "			if false && !handler.HasSynced() {\n",
	},
	{
		Name: "IN03", Summary: "An informer that resyncs before its handlers run blocks for ever.",
		Source: "kubernetes/kubernetes #136509", Module: clientGo, File: sharedInformer,
		Anchor: "	for !p.listenersStarted && len(p.listeners) > 0 {\n", Replacement: "	for false && !p.listenersStarted && len(p.listeners) > 0 {\n",
	},
	{
		Name: "IN05", Summary: "The queue of an informer is closed without its lock, so that a waiting consumer may miss it.",
		Source: "kubernetes/kubernetes #90581, #90825", Module: clientGo, File: queueFile,
		Anchor: "	f.lock.Lock()\n	defer f.lock.Unlock()\n	f.closed = true\n", Replacement: "	f.closed = true\n",
		More: []Edit{{Anchor: "	f.lock.Lock()\n	defer f.lock.Unlock()\n	return f.closed\n", Replacement: "	return f.closed\n"}},
	},
	{
		Name: "IN07", Summary: "The reflector does not stop a watch that it no longer needs.",
		Source: "kubernetes/kubernetes #131266", Module: clientGo, File: reflectorFile,
		Anchor: "		if stopWatcher {\n			w.Stop()\n		}\n", Replacement: "		_ = stopWatcher\n",
	},
	{
		Name: "IN09", Summary: "A leader that releases its lease waits for the answer without a timeout.",
		Source: "kubernetes/kubernetes #124588", Module: clientGo, File: leaderElection,
		Anchor:      "	timeoutCtx, timeoutCancel := context.WithTimeout(ctx, le.config.RenewDeadline)\n	defer timeoutCancel()\n	return le.tryRelease(timeoutCtx)\n",
		Replacement: "	return le.tryRelease(ctx)\n",
		// The programs' own timeout for each request of an election hides it.
		More: []Edit{{File: "tools/leaderelection/resourcelock/interface.go", Anchor: "	config.Timeout = timeout\n", Replacement: ""}},
	},
	{
		Name: "IN11", Summary: "A candidate acts as the leader before its write of the lease has succeeded.",
		Source: "kubernetes/kubernetes #23731", Module: clientGo, File: leaderElection,
		Anchor:      "		logger.Error(err, \"Failed to update lease\", \"lock\", le.config.Lock.Describe())\n		return false\n",
		Replacement: "		logger.Error(err, \"Failed to update lease\", \"lock\", le.config.Lock.Describe())\n		le.setObservedRecord(&leaderElectionRecord)\n		return true\n",
	},
	{
		Name: "IN13", Summary: "An informer that relists does not tell its handlers of deletions.",
		Source: "kubernetes/kubernetes #27004, #27435", Module: clientGo, File: informerControl,
		Anchor: "	for _, objToDelete := range deletions {\n", Replacement: "	for _, objToDelete := range deletions[:0] {\n",
	},
	{
		Name: "IN15", Summary: "An informer takes a status update for a resync.",
		Source: "falcosecurity/k8s-metacollector #188", Module: clientGo, File: sharedInformer,
		Anchor:      "			isSync = accessor.GetResourceVersion() == oldAccessor.GetResourceVersion()\n",
		Replacement: "			isSync = accessor.GetGeneration() == oldAccessor.GetGeneration()\n",
	},
	{
		Name: "CT01-rs", Summary: "Expectations of a deleted replica set hold up the one recreated under its name.",
		Source: "kubernetes/kubernetes #69376, #82572", File: replicaSetFile,
		Anchor:      "	// Delete expectations for the ReplicaSet so if we create a new one with the same name it starts clean\n	rsc.expectations.DeleteExpectations(logger, key)\n",
		Replacement: "",
	},
	{
		Name: "CT01-ds", Summary: "Expectations of a deleted daemon set hold up the one recreated under its name.",
		Source: "kubernetes/kubernetes #69376, #91915", File: daemonSetFile,
		Anchor:      "	// Delete expectations for the DaemonSet so if we create a new one with the same name it starts clean\n	dsc.expectations.DeleteExpectations(logger, key)\n",
		Replacement: "",
	},
	{
		Name: "CT01-job", Summary: "Expectations of a deleted job hold up the one recreated under its name.",
		Source: "kubernetes/kubernetes #69376", File: jobFile,
		Anchor:      "	// Delete expectations for the Job so a replacement with the same name starts clean.\n	jm.expectations.DeleteExpectations(logger, key)\n",
		Replacement: "",
	},
	{
		Name: "CT03", Summary: "A daemon set deletes a terminating pod again, and expects a second deletion.",
		Source: "kubernetes/kubernetes #78972, #78974", File: daemonSetFile,
		Anchor:      "			if pod.DeletionTimestamp != nil {\n				continue\n			}\n			podsToDelete = append(podsToDelete, pod.Name)\n",
		Replacement: "			podsToDelete = append(podsToDelete, pod.Name)\n",
	},
	{
		Name: "CT05", Summary: "A daemon set does not count a deletionTimestamp as the deletion that it expects.",
		Source: "kubernetes/kubernetes #63465, #77773", File: daemonSetFile,
		Anchor:      "		// until the kubelet actually deletes the pod.\n		dsc.deletePod(logger, curPod)\n		return\n",
		Replacement: "		// until the kubelet actually deletes the pod.\n",
	},
	{
		Name: "CT07", Summary: "A pod that is already gone keeps a stateful set from deleting others.",
		Source: "kubernetes/kubernetes #136812", File: "pkg/controller/statefulset/stateful_pod_control.go",
		Anchor:      "	if err := spc.objectMgr.DeletePod(pod); err != nil {\n		if !apierrors.IsNotFound(err) {\n			spc.recordPodEvent(\"delete\", set, pod, err)\n			return err\n		}\n	}\n",
		Replacement: "	if err := spc.objectMgr.DeletePod(pod); err != nil {\n		spc.recordPodEvent(\"delete\", set, pod, err)\n		return err\n	}\n",
	},
	{
		Name: "CT09", Summary: "A deployment takes the replica set of its predecessor of the same name for its own.",
		Source: "kubernetes/kubernetes #29735, #59212", File: "pkg/controller/deployment/sync.go",
		Anchor:      "controllerRef != nil && controllerRef.UID == d.UID && deploymentutil.EqualIgnoreHash",
		Replacement: "controllerRef != nil && deploymentutil.EqualIgnoreHash",
	},
	{
		Name: "CT11", Summary: "A finished job gets another pod while its controller has not observed that it has finished.",
		Source: "kubernetes/kubernetes #130103, #130333", File: jobFile,
		Anchor:      "	if _, ok := jm.finishedJobExpectations.Load(job.UID); ok {\n",
		Replacement: "	if _, ok := jm.finishedJobExpectations.Load(job.UID); ok && false {\n",
	},
	{
		Name: "CT11-unmasked", Summary: "The same, by a controller that does not wait for its own writes either.",
		Source: "kubernetes/kubernetes #130103, #130333", File: jobFile,
		Anchor:      "	if _, ok := jm.finishedJobExpectations.Load(job.UID); ok {\n",
		Replacement: "	if _, ok := jm.finishedJobExpectations.Load(job.UID); ok && false {\n",
		More:        []Edit{{Anchor: "	if err := jm.consistencyStore.EnsureReady(jobNamespacedName); err != nil {\n", Replacement: "	if err := jm.consistencyStore.EnsureReady(jobNamespacedName); err != nil && false {\n"}},
	},
	{
		Name: "CT13", Summary: "The finalizer of an orphaned job pod is never removed.",
		Source: "kubernetes/kubernetes #108645, #108752", File: jobFile,
		Anchor: "	jm.finishedJobExpectations.Delete(jobObj.UID)\n	jm.enqueueLabelSelector(jobObj)\n", Replacement: "	jm.finishedJobExpectations.Delete(jobObj.UID)\n",
	},
	{
		Name: "CT13-once", Summary: "The removal of such a finalizer is not retried.",
		Source: "kubernetes/kubernetes #141346, #141329", File: jobFile,
		Anchor:      "			logger.Error(err, \"syncing orphan pod failed\", \"pod\", klog.KObj(pod))\n			jm.enqueueOrphanPod(pod, true)\n",
		Replacement: "			logger.Error(err, \"syncing orphan pod failed\", \"pod\", klog.KObj(pod))\n",
	},
	{
		Name: "CT15", Summary: "The TTL controller deletes a job because a predecessor of its name, or its own older state, had expired.",
		Source: "kubernetes/kubernetes #66840", File: "pkg/controller/ttlafterfinished/ttlafterfinished_controller.go",
		Anchor:      "	fresh, err := tc.client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})\n",
		Replacement: "	fresh := job\n",
		More:        []Edit{{Anchor: "		Preconditions:     &metav1.Preconditions{UID: &fresh.UID},\n", Replacement: ""}},
	},
	{
		Name: "CT19", Summary: "An owner is taken for absent because another reference to its UID is wrong.",
		Source: "kubernetes/kubernetes #65200, #92743", File: collectorFile,
		Anchor:      "	absentOwnerCacheKey := objectReference{OwnerReference: ownerReferenceCoordinates(reference)}\n",
		Replacement: "	absentOwnerCacheKey := objectReference{OwnerReference: metav1.OwnerReference{UID: reference.UID}}\n",
		More:        []Edit{{Anchor: "	absentOwnerCacheKey.Namespace = item.identity.Namespace\n", Replacement: ""}},
	},
	{
		Name: "CT21", Summary: "The quota controller waits without a timeout for a removed resource, with all its workers stopped.",
		Source: "kubernetes/kubernetes #71450, #74747", File: "pkg/controller/resourcequota/resource_quota_controller.go",
		Anchor: "			syncCtx, cancel := context.WithTimeout(ctx, period)\n", Replacement: "			syncCtx, cancel := context.WithCancel(ctx)\n",
	},
	{
		Name: "CT23", Summary: "Nodes are declared unreachable because of stale leases in a cache.",
		Source: "kubernetes/kubernetes #138698", File: "pkg/controller/nodelifecycle/node_lifecycle_controller.go",
		Anchor:      "				if liveLease.ResourceVersion != nodeHealthLeaseRV {\n",
		Replacement: "				if false && liveLease.ResourceVersion != nodeHealthLeaseRV {\n",
	},
	{
		Name: "CT25", Summary: "The disruption controller overwrites an eviction that it has not observed.",
		Source: "kubernetes/kubernetes #82149, #82152", File: "pkg/controller/disruption/disruption.go",
		Anchor:      "	// If this update fails, don't retry it. Allow the failure to get handled &\n	// retried in `processNextWorkItem()`.\n",
		Replacement: "	if latest, err := dc.kubeClient.PolicyV1().PodDisruptionBudgets(pdb.Namespace).Get(ctx, pdb.Name, metav1.GetOptions{}); err == nil {\n		pdb.ResourceVersion = latest.ResourceVersion\n	}\n",
	},
	{
		Name: "SC01", Summary: "The scheduler forgets a pod that it has bound if it does not observe the binding within 30 seconds.",
		Source: "kubernetes/kubernetes #106361, #110925", File: "pkg/scheduler/backend/cache/cache.go",
		Anchor:      "	return cache.addPod(logger, pod, true)\n",
		Replacement: "	time.AfterFunc(30*time.Second, func() { _ = cache.ForgetPod(logger, pod) })\n	return cache.addPod(logger, pod, true)\n",
	},
	{
		Name: "SC05", Summary: "The scheduler drops the events that arrive while it tries to schedule a pod.",
		Source: "kubernetes/kubernetes #120413", File: "pkg/scheduler/backend/queue/active_queue.go",
		Anchor:      "		ev, ok := e.Value.(*clusterEvent)\n		if !ok {\n			// A pod, must stop pruning.\n			break\n		}\n",
		Replacement: "		ev, ok := e.Value.(*clusterEvent)\n		for !ok && e != nil {\n			if e = e.Next(); e != nil {\n				ev, ok = e.Value.(*clusterEvent)\n			}\n		}\n		if e == nil {\n			break\n		}\n",
	},
	{
		Name: "SC07", Summary: "The scheduler keeps a nomination for a pod that is gone or has been placed.",
		Source: "kubernetes/kubernetes #102339, #109236", File: "pkg/scheduler/backend/queue/nominator.go",
		Anchor: "	if npm.podLister != nil {\n		// If the pod was removed or", Replacement: "	if npm.podLister != nil && false {\n		// If the pod was removed or",
	},
	{
		Name: "RS02", Summary: "A replica set creates pods again before it has observed their creation.",
		File:        replicaSetFile,
		Anchor:      "	rsNeedsSync := rsc.expectations.SatisfiedExpectations(logger, key)\n",
		Replacement: "	rsNeedsSync := true\n",
		More:        []Edit{{Anchor: "	if err := rsc.consistencyStore.EnsureReady(rsNamespacedName); err != nil {\n", Replacement: "	if err := rsc.consistencyStore.EnsureReady(rsNamespacedName); err != nil && false {\n"}},
	},
	{
		Name: "DS02", Summary: "A daemon set creates pods again before it has observed their creation.",
		File:        daemonSetFile,
		Anchor:      "	if !dsc.expectations.SatisfiedExpectations(logger, dsKey) {\n",
		Replacement: "	if false && !dsc.expectations.SatisfiedExpectations(logger, dsKey) {\n",
		More:        []Edit{{Anchor: "	if err := dsc.consistencyStore.EnsureReady(dsNamespacedName); err != nil {\n", Replacement: "	if err := dsc.consistencyStore.EnsureReady(dsNamespacedName); err != nil && false {\n"}},
	},
	{
		Name: "DP02", Summary: "A deployment scales up without counting the replicas of its other replica sets.",
		File:        "pkg/controller/deployment/util/deployment_util.go",
		Anchor:      "		currentPodCount := GetReplicaCountForReplicaSets(allRSs)\n		maxTotalPods :=",
		Replacement: "		currentPodCount := *(newRS.Spec.Replicas)\n		maxTotalPods :=",
	},
	{
		Name: "SS04", Summary: "A stateful set creates its pods in parallel.",
		File:   "pkg/controller/statefulset/stateful_set_utils.go",
		Anchor: "	return set.Spec.PodManagementPolicy == apps.ParallelPodManagement\n", Replacement: "	return true\n",
	},
	{
		Name: "JB04", Summary: "A job creates pods again before it has observed their creation.",
		File:        jobFile,
		Anchor:      "	satisfiedExpectations := jm.expectations.SatisfiedExpectations(logger, key)\n",
		Replacement: "	satisfiedExpectations := true\n",
		More:        []Edit{{Anchor: "	if err := jm.consistencyStore.EnsureReady(jobNamespacedName); err != nil {\n", Replacement: "	if err := jm.consistencyStore.EnsureReady(jobNamespacedName); err != nil && false {\n"}},
	},
	{
		Name: "JB02", Summary: "A job counts finished pods twice.",
		File:        jobFile,
		Anchor:      "			} else if !jobCtx.uncounted.succeeded.Has(pod.UID) {\n",
		Replacement: "			} else {\n",
	},
	{
		Name: "QT02", Summary: "API servers write the usage of a quota without a resourceVersion, and lose concurrent updates.",
		Module: apiserver, File: "pkg/admission/plugin/resourcequota/resource_access.go",
		Anchor:      "	updatedQuota, err := e.client.CoreV1().ResourceQuotas(newQuota.Namespace).UpdateStatus(context.TODO(), newQuota, metav1.UpdateOptions{})\n",
		Replacement: "	newQuota.ResourceVersion = \"\"\n	updatedQuota, err := e.client.CoreV1().ResourceQuotas(newQuota.Namespace).UpdateStatus(context.TODO(), newQuota, metav1.UpdateOptions{})\n",
	},
	{
		Name: "GC02", Summary: "Dependents of an owner that was recreated under the same name are never collected.",
		File:   collectorFile,
		Anchor: "	if owner.GetUID() != reference.UID {\n", Replacement: "	if false && owner.GetUID() != reference.UID {\n",
	},
	{
		Name: "GC04", Summary: "A dependent is collected while its owner exists.",
		File:   collectorFile,
		Anchor: "	case len(solid) != 0:\n		logger.V(2).Info(\"item has at least one existing owner", Replacement: "	case len(solid) != 0 && len(solid) != 1:\n		logger.V(2).Info(\"item has at least one existing owner",
	},
	{
		Name: "KA02", Summary: "kube-apiserver accepts an update with an outdated resourceVersion.",
		Module: apiserver, File: "pkg/registry/generic/registry/store.go",
		Anchor: "			if newResourceVersion != existingResourceVersion {\n", Replacement: "			if false && newResourceVersion != existingResourceVersion {\n",
	},
	{
		Name: "SC02", Summary: "The scheduler does not count pods whose binding is in flight.",
		File:        "pkg/scheduler/backend/cache/cache.go",
		Anchor:      "so can't be assumed\", key, klog.KObj(pod))\n	}\n\n	return cache.addPod(logger, pod, true)\n",
		Replacement: "so can't be assumed\", key, klog.KObj(pod))\n	}\n\n	return nil\n",
	},
	{
		Name: "SS02", Summary: "A stateful set replaces a pod before its containers have ended.",
		File:        "pkg/controller/statefulset/stateful_pod_control.go",
		Anchor:      "	return om.client.CoreV1().Pods(pod.Namespace).Delete(context.TODO(), pod.Name, metav1.DeleteOptions{})\n",
		Replacement: "	return om.client.CoreV1().Pods(pod.Namespace).Delete(context.TODO(), pod.Name, *metav1.NewDeleteOptions(0))\n",
	},
	{
		Name: "NS02", Summary: "A namespace is removed before its contents.",
		File:   "pkg/controller/namespace/deletion/namespaced_resources_deleter.go",
		Anchor: "	if estimate > 0 {\n		return &ResourcesRemainingError", Replacement: "	if estimate > 0 && false {\n		return &ResourcesRemainingError",
	},
	{
		Name: "DS04", Summary: "During a rollout, a daemon set replaces its pods on all nodes at once.",
		File:   "pkg/controller/daemon/update.go",
		Anchor: "		remainingUnavailable := maxUnavailable - numUnavailable\n", Replacement: "		remainingUnavailable := len(candidatePodsToDelete)\n",
	},
	{
		Name: "SS06", Summary: "During a rollout, a stateful set does not wait for the pods that it has replaced.",
		File:        statefulSetFile,
		Anchor:      "		if isUnavailable(pod, set.Spec.MinReadySeconds, now) {\n			unavailablePods++\n",
		Replacement: "		if false && isUnavailable(pod, set.Spec.MinReadySeconds, now) {\n			unavailablePods++\n",
	},
	{
		Name: "DP04", Summary: "During a rollout, a deployment deletes all old pods at once.",
		File:   "pkg/controller/deployment/rolling.go",
		Anchor: "	totalScaleDownCount := availablePodCount - minAvailable\n", Replacement: "	totalScaleDownCount := availablePodCount\n",
	},
	{
		Name: "DP06", Summary: "A deployment deletes old replica sets that still have pods.",
		File:   "pkg/controller/deployment/sync.go",
		Anchor: "		if rs.Status.Replicas != 0 || *(rs.Spec.Replicas) != 0 || rs.Generation", Replacement: "		if rs.Generation",
	},
	{
		Name: "JB06", Summary: "A suspended job keeps one of its pods.",
		File:   jobFile,
		Anchor: "		podsToDelete := activePodsForRemoval(job, jobCtx.activePods, int(active))\n		jm.expectations", Replacement: "		podsToDelete := activePodsForRemoval(job, jobCtx.activePods, max(int(active)-1, 0))\n		jm.expectations",
	},
	{
		Name: "TE02", Summary: "Pods are evicted from a node that has recovered in time.",
		File:   "pkg/controller/tainteviction/taint_eviction.go",
		Anchor: "	if len(taints) == 0 {\n		tc.cancelWorkWithEvent(logger, podNamespacedName)\n	}\n", Replacement: "",
		More: []Edit{
			{Anchor: "cancelling any scheduled deletion\", \"pod\", podNamespacedName.String())\n		tc.cancelWorkWithEvent(logger, podNamespacedName)\n", Replacement: "cancelling any scheduled deletion\", \"pod\", podNamespacedName.String())\n"},
			{Anchor: "			tc.cancelWorkWithEvent(logger, types.NamespacedName{Namespace: pods[i].Namespace, Name: pods[i].Name})\n", Replacement: "			_ = pods[i]\n"},
		},
	},
	{
		Name: "SC04", Summary: "The scheduler reserves room on a node for a pod whose binding has failed.",
		File:   "pkg/scheduler/schedule_one.go",
		Anchor: "		return nil\n	}\n	return sched.Cache.ForgetPod(logger, assumedPodInfo.Pod)\n", Replacement: "		return nil\n	}\n	return nil\n",
	},
	{
		Name: "SC06", Summary: "The scheduler does not retry pending pods when a bound pod is removed.",
		File:        "pkg/scheduler/eventhandlers.go",
		Anchor:      "Scheduler cache RemovePod failed\", \"pod\", klog.KObj(pod))\n	}\n\n	sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, framework.EventAssignedPodDelete, pod, nil, nil)\n",
		Replacement: "Scheduler cache RemovePod failed\", \"pod\", klog.KObj(pod))\n	}\n",
	},
	{
		Name: "GC06", Summary: "An object that is deleted in the foreground is removed before its dependents.",
		File:   collectorFile,
		Anchor: "	blockingDependents := item.blockingDependents()\n	if len", Replacement: "	blockingDependents := item.blockingDependents()[:0]\n	if len",
	},
	{
		Name: "KA04", Summary: "kube-apiserver removes an object that still has a finalizer.",
		Module: apiserver, File: "pkg/registry/generic/registry/store.go",
		Anchor: "	if len(newMeta.GetFinalizers()) > 0 {\n", Replacement: "	if len(newMeta.GetFinalizers()) > 1 {\n",
	},
	{
		Name: "ES02", Summary: "Endpoint slices are reconciled from a cache that is older than the last write.",
		File:   "pkg/controller/endpointslice/endpointslice_controller.go",
		Anchor: "	if c.endpointSliceTracker.StaleSlices(service, endpointSlices) {\n", Replacement: "	if false && c.endpointSliceTracker.StaleSlices(service, endpointSlices) {\n",
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
	return slices.Concat(controlPlaneMutants, controlPlaneFixes, jobFixes)
}
