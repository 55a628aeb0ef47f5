package mutant

// The fixed controllers.
const (
	graphFile        = "pkg/controller/garbagecollector/graph_builder.go"
	podCollectorFile = "pkg/controller/podgc/gc_controller.go"
	statefulSetFile  = "pkg/controller/statefulset/stateful_set_control.go"
)

// replicaSetIsGone is the check that finding 26 lacks wherever expectations of a replica set are set.
const replicaSetIsGone = `		if current, err := rsc.rsLister.ReplicaSets(rs.Namespace).Get(rs.Name); err != nil || current.UID != rs.UID {
			rsc.expectations.DeleteExpectations(logger, rsKey)
			return fmt.Errorf("%v %s with UID %s was deleted", rsc.Kind, rsKey, rs.UID)
		}
`

// jobIsGone is the same check for a job.
const jobIsGone = `		if current, err := jm.jobLister.Jobs(job.Namespace).Get(job.Name); err != nil || current.UID != job.UID {
			jm.expectations.DeleteExpectations(logger, jobKey)
			return active, metrics.JobSyncActionPodsCreated, fmt.Errorf("Job %s with UID %s was deleted", jobKey, job.UID)
		}
`

// controlPlaneFixes are fixes of the findings of the control plane in docs/findings, except those of jobFixes and serverFixes.
var controlPlaneFixes = of(controlPlane, kubernetes, []Mutant{
	{
		Name: "fix-finding-9", File: graphFile,
		Summary:     "The garbage collector processes an owner reference that changes but keeps its UID.",
		Anchor:      "			// Add the node to its new owners' dependent lists.\n			gb.addDependentToOwners(logger, existingNode, added)\n",
		Replacement: "			for _, c := range changed {\n				added = append(added, c.newRef)\n			}\n			gb.addDependentToOwners(logger, existingNode, added)\n",
	},
	{
		Name: "fix-finding-10", File: graphFile,
		Summary: "The garbage collector treats an update that changes the UID as a deletion and a creation.",
		Anchor:  "			event := &event{\n				eventType: updateEvent,\n",
		Replacement: `			if before, err := meta.Accessor(oldObj); err == nil {
				if after, err := meta.Accessor(newObj); err == nil && before.GetUID() != after.GetUID() {
					gb.graphChanges.Add(&event{eventType: deleteEvent, obj: oldObj, gvk: kind})
					gb.graphChanges.Add(&event{eventType: addEvent, obj: newObj, gvk: kind})
					return
				}
			}
			event := &event{
				eventType: updateEvent,
`,
	},
	{
		Name: "fix-finding-11", File: podCollectorFile,
		Summary: "The pod garbage collector patches and deletes only the pod that it has checked.",
		Anchor: `		if _, _, _, err := utilpod.PatchPodStatus(ctx, gcc.kubeClient, pod.Namespace, pod.Name, pod.UID, pod.Status, *newStatus); err != nil {
			return err
		}
	}
	return gcc.kubeClient.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
`,
		Replacement: `		_ = utilpod.PatchPodStatus
		before, err := json.Marshal(v1.Pod{Status: pod.Status})
		if err != nil {
			return err
		}
		after, err := json.Marshal(v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID, ResourceVersion: pod.ResourceVersion}, Status: *newStatus})
		if err != nil {
			return err
		}
		patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.Pod{})
		if err != nil {
			return err
		}
		if _, err := gcc.kubeClient.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	return gcc.kubeClient.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
`,
		More: []Edit{{
			Anchor:      "	apipod \"k8s.io/kubernetes/pkg/api/v1/pod\"\n",
			Replacement: "	\"encoding/json\"\n	\"k8s.io/apimachinery/pkg/types\"\n	\"k8s.io/apimachinery/pkg/util/strategicpatch\"\n	apipod \"k8s.io/kubernetes/pkg/api/v1/pod\"\n",
		}},
	},
	{
		Name: "fix-finding-12", File: "pkg/controller/garbagecollector/operations.go",
		Summary:     "The garbage collector deletes only the version of an object whose owners it has compared.",
		Anchor:      "			return gc.deleteObject(item, \"\", nil, policy)\n",
		Replacement: "			return gc.deleteObject(item, liveObject.ResourceVersion, ownersAtResourceVersion, policy)\n",
	},
	{
		Name: "fix-finding-25", File: "pkg/controller/daemon/daemon_controller.go",
		Summary:     "Controllers do not write the status of a workload to its successor of the same name.",
		Anchor:      "			return nil, getErr\n		}\n",
		Replacement: "			return nil, getErr\n		}\n		if toUpdate.UID != ds.UID {\n			break\n		}\n",
		More: []Edit{
			{
				File:        "pkg/controller/statefulset/stateful_set_status_updater.go",
				Anchor:      "			// make a copy so we don't mutate the shared cache\n",
				Replacement: "			if updated.UID != set.UID {\n				return fmt.Errorf(\"the stateful set was replaced: %v\", updateErr)\n			}\n",
			},
			{File: "pkg/controller/statefulset/stateful_set_status_updater.go", Anchor: "import (\n", Replacement: "import (\n	\"fmt\"\n"},
			{
				File:        "pkg/controller/replicaset/replica_set_utils.go",
				Anchor:      "			return nil, getErr\n		}\n",
				Replacement: "			return nil, getErr\n		}\n		if rs.UID != uid {\n			break\n		}\n",
			},
			{File: "pkg/controller/replicaset/replica_set_utils.go", Anchor: "	for i, rs := 0, rs; ; i++ {\n", Replacement: "	uid := rs.UID\n	for i, rs := 0, rs; ; i++ {\n"},
		},
	},
	{
		Name: "fix-finding-26", File: "pkg/controller/daemon/daemon_controller.go",
		Summary: "The expectations of a deleted daemon set, replica set or job do not apply to its successor of the same name.",
		Anchor:  "	dsc.expectations.SetExpectations(logger, dsKey, createDiff, deleteDiff)\n",
		Replacement: `	dsc.expectations.SetExpectations(logger, dsKey, createDiff, deleteDiff)
	if current, err := dsc.dsLister.DaemonSets(ds.Namespace).Get(ds.Name); err != nil || current.UID != ds.UID {
		dsc.expectations.DeleteExpectations(logger, dsKey)
		return fmt.Errorf("DaemonSet %s with UID %s was deleted", dsKey, ds.UID)
	}
`,
		More: []Edit{
			{
				File:        replicaSetFile,
				Anchor:      "		rsc.expectations.ExpectCreations(logger, rsKey, diff)\n",
				Replacement: "		rsc.expectations.ExpectCreations(logger, rsKey, diff)\n" + replicaSetIsGone,
			},
			{
				File:        replicaSetFile,
				Anchor:      "		rsc.expectations.ExpectDeletions(logger, rsKey, getPodKeys(podsToDelete))\n",
				Replacement: "		rsc.expectations.ExpectDeletions(logger, rsKey, getPodKeys(podsToDelete))\n" + replicaSetIsGone,
			},
			{
				File:        jobFile,
				Anchor:      "		jm.expectations.ExpectCreations(logger, jobKey, int(diff))\n",
				Replacement: "		jm.expectations.ExpectCreations(logger, jobKey, int(diff))\n" + jobIsGone,
			},
			{
				File:        jobFile,
				Anchor:      "		jm.expectations.ExpectDeletions(logger, jobKey, len(podsToDelete))\n		removedReady",
				Replacement: "		jm.expectations.ExpectDeletions(logger, jobKey, len(podsToDelete))\n" + jobIsGone + "		removedReady",
			},
			{
				File:        jobFile,
				Anchor:      "		jm.expectations.ExpectDeletions(logger, jobKey, len(podsToDelete))\n		logger.V(4)",
				Replacement: "		jm.expectations.ExpectDeletions(logger, jobKey, len(podsToDelete))\n" + jobIsGone + "		logger.V(4)",
			},
		},
	},
	{
		Name: "fix-finding-30", File: "pkg/controller/deployment/deployment_controller.go",
		Summary: "The deployment controller waits until its cache has the replica counts of its replica sets.",
		Anchor:  "	if d.DeletionTimestamp != nil {\n		return dc.syncStatusOnly(ctx, d, rsList)\n	}\n",
		Replacement: `	live, err := dc.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range live.Items {
		known := !metav1.IsControlledBy(&live.Items[i], d)
		for _, cached := range rsList {
			known = known || cached.UID == live.Items[i].UID && *cached.Spec.Replicas == *live.Items[i].Spec.Replicas
		}
		if !known {
			return fmt.Errorf("ReplicaSet %s asks for another number of replicas than is known", live.Items[i].Name)
		}
	}
	if d.DeletionTimestamp != nil {
		return dc.syncStatusOnly(ctx, d, rsList)
	}
`,
	},
	{
		Name: "fix-finding-31", File: "pkg/scheduler/framework/preemption/executor.go",
		Summary:     "A preemptor is requeued once its last victim is gone, where no event may do so.",
		Anchor:      "	preemptedLastVictimInMemory := false\n",
		Replacement: "	preemptedLastVictimInMemory, unboundLastVictim := false, false\n",
		More: []Edit{
			{Anchor: " || preemptedLastVictimInMemory {\n", Replacement: " || preemptedLastVictimInMemory || unboundLastVictim {\n"},
			{
				Anchor: "			preemptedInMemory, err := e.PreemptPod(ctx, c, preemptor, lastVictim, pluginName)\n",
				Replacement: `			if current, err := e.podLister.Pods(lastVictim.Namespace).Get(lastVictim.Name); err == nil && current.Spec.NodeName == "" {
				unboundLastVictim = true
			}
			preemptedInMemory, err := e.PreemptPod(ctx, c, preemptor, lastVictim, pluginName)
`,
			},
			{Anchor: "c.Name())\n					return false, nil\n", Replacement: "c.Name())\n					return true, nil\n"},
			{Anchor: "c.Name())\n				return false, nil\n", Replacement: "c.Name())\n				return true, nil\n"},
		},
	},
	{
		Name: "fix-finding-32", File: "pkg/controller/deployment/sync.go",
		Summary: "The annotations of a deployment's only active replica set follow the deployment even if its size is already right.",
		Anchor: `		if *(activeOrLatest.Spec.Replicas) == *(deployment.Spec.Replicas) {
			return nil
		}
		_, _, err := dc.scaleReplicaSet(ctx, activeOrLatest, *(deployment.Spec.Replicas), deployment, false)
`,
		Replacement: "		_, _, err := dc.scaleReplicaSet(ctx, activeOrLatest, *(deployment.Spec.Replicas), deployment, true)\n",
	},
	{
		Name: "fix-finding-33", File: "pkg/controller/disruption/disruption.go",
		Summary: "The disruption controller also syncs the budget that selected a pod by its old labels.",
		Anchor: `func (dc *DisruptionController) updatePod(logger klog.Logger, _, cur interface{}) {
	pod := cur.(*v1.Pod)
`,
		Replacement: `func (dc *DisruptionController) updatePod(logger klog.Logger, old, cur interface{}) {
	pod := cur.(*v1.Pod)
	if oldPod := old.(*v1.Pod); !apiequality.Semantic.DeepEqual(oldPod.Labels, pod.Labels) {
		if pdb := dc.getPdbForPod(logger, oldPod); pdb != nil {
			dc.enqueuePdb(logger, pdb)
		}
	}
`,
	},
	{
		Name: "fix-finding-38", File: statefulSetFile,
		Summary:     "The stateful set controller keeps the current revision in the status also if the new revision cannot be created.",
		Anchor:      "	for i := range pods {\n		live[getPodRevision(pods[i])] = true\n",
		Replacement: "	live[set.Status.CurrentRevision] = true\n	for i := range pods {\n		live[getPodRevision(pods[i])] = true\n",
	},
	{
		Name: "fix-finding-39", File: statefulSetFile,
		Summary: "The stateful set controller reads the current revision in the status if its cache does not have it.",
		Anchor:  "	if currentRevision == nil {\n		currentRevision = updateRevision\n",
		Replacement: `	if name := set.Status.CurrentRevision; currentRevision == nil && name != "" && name != updateRevision.Name {
		if manager, ok := ssc.podControl.objectMgr.(*realStatefulPodControlObjectManager); ok {
			live, err := manager.client.AppsV1().ControllerRevisions(set.Namespace).Get(context.TODO(), name, metav1.GetOptions{})
			if err == nil {
				currentRevision = live
			} else if !apierrors.IsNotFound(err) {
				return nil, nil, collisionCount, err
			}
		}
	}
	if currentRevision == nil {
		currentRevision = updateRevision
`,
	},
	{
		Name: "fix-finding-40", File: "pkg/controller/daemon/update.go",
		Summary:     "A daemon set compares the template generation only of pods that are not older than itself.",
		Anchor:      "		generation, err := util.GetTemplateGeneration(ds)\n		if err != nil {\n",
		Replacement: "		generation, err := util.GetTemplateGeneration(ds)\n		if err != nil || pod.CreationTimestamp.Before(&ds.CreationTimestamp) {\n",
		More: []Edit{{
			File:        daemonSetFile,
			Anchor:      "			generation, err := util.GetTemplateGeneration(ds)\n			if err != nil {\n",
			Replacement: "			generation, err := util.GetTemplateGeneration(ds)\n			if err != nil || pod.CreationTimestamp.Before(&ds.CreationTimestamp) {\n",
		}},
	},
	{
		Name: "fix-finding-41", File: daemonSetFile,
		Summary:     "A daemon set is synced again while one of its new pods is ready, but not yet available.",
		Anchor:      "				podsToDelete = append(podsToDelete, oldestOldPod.Name)\n			}\n		}\n\n	case !shouldContinueRunning && exists:\n",
		Replacement: "				podsToDelete = append(podsToDelete, oldestOldPod.Name)\n			case ds.Spec.MinReadySeconds > 0 && podutil.IsPodReady(oldestNewPod):\n				dsc.enqueueDaemonSetAfter(ds, time.Duration(ds.Spec.MinReadySeconds)*time.Second)\n			}\n		}\n\n	case !shouldContinueRunning && exists:\n",
	},
	{
		Name: "fix-finding-42", File: "pkg/controller/namespace/deletion/namespaced_resources_deleter.go",
		Summary: "The namespace controller deletes Jobs while pods remain.",
		Anchor:  "delaying deletion of other resources\", \"namespace\", namespace)\n",
		Replacement: `delaying deletion of other resources", "namespace", namespace)
			jobsGVR := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
			if _, hasJobs := groupVersionResources[jobsGVR]; hasJobs {
				if _, err := d.deleteAllContentForGroupVersionResource(ctx, jobsGVR, namespace, namespaceDeletedAt); err != nil {
					errs = append(errs, err)
					conditionUpdater.ProcessDeleteContentErr(err)
				}
			}
`,
	},
	{
		Name: "fix-finding-51", Module: clientGo, File: leaderElection,
		Summary:     "A leader that releases its lease leaves the lease of a successor alone.",
		Anchor:      "	if !le.IsLeader() {\n		return true\n	}\n	now := metav1.NewTime(le.clock.Now())\n",
		Replacement: "	if !le.IsLeader() || oldLeaderElectionRecord.HolderIdentity != le.config.Lock.Identity() {\n		return true\n	}\n	now := metav1.NewTime(le.clock.Now())\n",
	},
	{
		Name: "fix-finding-56", File: daemonSetFile,
		Summary:     "An update of a node ignores pods there of a deleted daemon set whose name another one has.",
		Anchor:      "		dsKey := cache.NewObjectName(pod.Namespace, controllerRef.Name).String()\n",
		Replacement: "		dsKey := cache.NewObjectName(pod.Namespace, controllerRef.Name).String() + \" \" + string(controllerRef.UID)\n",
		More: []Edit{{
			Anchor:      "		daemonPods := podsByDS[dsKey]\n",
			Replacement: "		daemonPods := podsByDS[dsKey+\" \"+string(ds.UID)]\n",
		}},
	},
	{
		Name: "fix-finding-57", File: "pkg/controller/tainteviction/taint_eviction.go",
		Summary: "The taint eviction controller does not evict a pod for another one of its name.",
		// The parameters of the functions are those of the release: the context and the lister have what they lack.
		Anchor:      "			err = addConditionAndDeletePod(ctx, c, name, ns)\n",
		Replacement: "			err = addConditionAndDeletePod(context.WithValue(ctx, types.UID(\"\"), args.Object.UID), c, name, ns)\n",
		More: []Edit{
			{
				Anchor: "	newStatus := pod.Status.DeepCopy()\n",
				Replacement: `	if pod.UID != ctx.Value(types.UID("")) {
		return apierrors.NewNotFound(v1.Resource("pods"), name)
	}
	newStatus := pod.Status.DeepCopy()
`,
			},
			{
				Anchor:      "	return c.CoreV1().Pods(ns).Delete(ctx, name, metav1.DeleteOptions{})\n",
				Replacement: "	return c.CoreV1().Pods(ns).Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})\n",
			},
			{
				Anchor: "	allTolerated, usedTolerations := v1helper.GetMatchingTolerations(logger, taints, tolerations)\n",
				Replacement: `	pod, err := tc.podLister.Pods(podNamespacedName.Namespace).Get(podNamespacedName.Name)
	if err != nil || pod.Spec.NodeName != nodeName {
		return
	}
	work := &WorkArgs{Object: NamespacedObject{NamespacedName: podNamespacedName, UID: pod.UID}}
	allTolerated, usedTolerations := v1helper.GetMatchingTolerations(logger, taints, tolerations)
`,
			},
			{
				Anchor:      "		tc.taintEvictionQueue.AddWork(ctx, NewWorkArgs(podNamespacedName.Name, podNamespacedName.Namespace), now, now)\n",
				Replacement: "		tc.taintEvictionQueue.AddWork(ctx, work, now, now)\n",
			},
			{
				Anchor: `		startTime = scheduledEviction.CreatedAt
		if startTime.Add(minTolerationTime).Before(triggerTime) {
			return
		}
`,
				Replacement: `		if scheduledEviction.WorkItem.Object.UID == pod.UID {
			startTime = scheduledEviction.CreatedAt
			if startTime.Add(minTolerationTime).Before(triggerTime) {
				return
			}
		}
`,
			},
			{
				Anchor:      "	tc.taintEvictionQueue.AddWork(ctx, NewWorkArgs(podNamespacedName.Name, podNamespacedName.Namespace), startTime, triggerTime)\n",
				Replacement: "	tc.taintEvictionQueue.AddWork(ctx, work, startTime, triggerTime)\n",
			},
		},
	},
	{
		Name: "fix-finding-58", Module: "k8s.io/apiextensions-apiserver", File: "pkg/controller/finalizer/crd_finalizer.go",
		Summary:     "An API server that gets a conflict while it finishes the deletion of a custom resource's definition tries again.",
		Anchor:      "	crd, err = c.crdClient.CustomResourceDefinitions().UpdateStatus(ctx, crd, metav1.UpdateOptions{})\n	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {\n",
		Replacement: "	crd, err = c.crdClient.CustomResourceDefinitions().UpdateStatus(ctx, crd, metav1.UpdateOptions{})\n	if apierrors.IsNotFound(err) {\n",
		More: []Edit{{
			Anchor:      "	_, err = c.crdClient.CustomResourceDefinitions().UpdateStatus(ctx, crd, metav1.UpdateOptions{})\n	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {\n",
			Replacement: "	_, err = c.crdClient.CustomResourceDefinitions().UpdateStatus(ctx, crd, metav1.UpdateOptions{})\n	if apierrors.IsNotFound(err) {\n",
		}},
	},
	{
		Name: "fix-finding-59", Summary: "The scheduler counts the claims of pods on a removed node neither twice nor too late.",
		File:        "pkg/scheduler/backend/cache/cache.go",
		Anchor:      "	cache.addNodeImageStates(node, n.info)\n	n.info.SetNode(node)\n",
		Replacement: "	cache.addNodeImageStates(node, n.info)\n	cache.refreshPVCRefCountsDelta(n.info, -1)\n	n.info.SetNode(node)\n	cache.refreshPVCRefCountsDelta(n.info, 1)\n",
		More: []Edit{{
			Anchor:      "func (cache *cacheImpl) refreshPVCRefCountsDelta(nodeInfo *framework.NodeInfo, sign int) {\n",
			Replacement: "func (cache *cacheImpl) refreshPVCRefCountsDelta(nodeInfo *framework.NodeInfo, sign int) {\n	if nodeInfo.Node() == nil {\n		return\n	}\n",
		}},
	},
	{
		Name: "fix-finding-61", Summary: "The scheduler takes an update of a pod to another one of its name for a deletion and an addition.",
		File:        "pkg/scheduler/eventhandlers.go",
		Anchor:      "\"Cannot convert newObj to *v1.Pod\", \"newObj\", newObj)\n		return\n	}\n\n	if assignedPod(oldPod) {\n",
		Replacement: "\"Cannot convert newObj to *v1.Pod\", \"newObj\", newObj)\n		return\n	}\n\n	if oldPod.UID != newPod.UID {\n		sched.deletePod(oldPod)\n		sched.addPod(newPod)\n		return\n	}\n\n	if assignedPod(oldPod) {\n",
	},
	{
		Name: "fix-finding-62", Summary: "A claim is not protected by a pod that is shut down.",
		File:        "pkg/controller/volume/pvcprotection/pvc_protection_controller.go",
		Anchor:      "	if pod.Spec.NodeName != \"\" {\n",
		Replacement: "	if pod.Spec.NodeName != \"\" && !podIsShutDown(pod) {\n",
	},
	{
		Name: "fix-finding-63", Summary: "The volume controller selects a node for a claim that waits for a pod which has been placed.",
		File:   "pkg/controller/volume/persistentvolume/pv_controller_base.go",
		Anchor: "		ctrl.enqueueWork(ctx, ctrl.claimQueue, pvc)\n",
		Replacement: `		ctrl.enqueueWork(ctx, ctrl.claimQueue, pvc)
		late, err := storagehelpers.IsDelayBindingMode(pvc, ctrl.classLister)
		if err != nil || !late || pvc.DeletionTimestamp != nil || pvc.Spec.VolumeName != "" || storagehelpers.IsDelayBindingProvisioning(pvc) {
			continue
		}
		if class, err := ctrl.classLister.Get(storagehelpers.GetPersistentVolumeClaimClass(pvc)); err != nil || class.Provisioner == storagehelpers.NotSupportedProvisioner {
			continue
		}
		pods, _ := ctrl.findPodsByPVCKey(claimToClaimKey(pvc))
		for _, pod := range pods {
			if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || volumeutil.IsPodTerminated(pod, pod.Status) || !slices.ContainsFunc(pod.Spec.Volumes, func(volume v1.Volume) bool {
				return volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ClaimName == pvc.Name ||
					volume.Ephemeral != nil && pod.Name+"-"+volume.Name == pvc.Name && metav1.IsControlledBy(pvc, pod)
			}) {
				continue
			}
			live, err := ctrl.kubeClient.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			if err != nil || live.UID != pod.UID || live.DeletionTimestamp != nil {
				continue
			}
			claim := pvc.DeepCopy()
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagehelpers.AnnSelectedNode, pod.Spec.NodeName)
			if _, err := ctrl.kubeClient.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
				logger.V(2).Info("Error selecting the node of a scheduled pod", "PVC", klog.KObj(claim), "err", err)
			}
			break
		}
`,
	},
	{
		Name: "fix-finding-65", Summary: "The controller of endpoint slices forgets those that are being deleted.",
		File:        "pkg/controller/endpointslice/endpointslice_controller.go",
		Anchor:      "	endpointSlices = dropEndpointSlicesPendingDeletion(endpointSlices)\n",
		Replacement: "	for _, endpointSlice := range endpointSlices {\n		if endpointSlice.DeletionTimestamp != nil {\n			c.endpointSliceTracker.HandleDeletion(endpointSlice)\n		}\n	}\n	endpointSlices = dropEndpointSlicesPendingDeletion(endpointSlices)\n",
	},
	{
		Name: "fix-finding-66", Summary: "The garbage collector takes an owner for absent only if its resource is served.",
		File:        "pkg/controller/garbagecollector/garbagecollector.go",
		Anchor:      "	case errors.IsNotFound(err):\n		gc.absentOwnerCache.Add(absentOwnerCacheKey)\n",
		Replacement: "	case errors.IsNotFound(err) && !errors.IsUnexpectedServerError(err):\n		gc.absentOwnerCache.Add(absentOwnerCacheKey)\n",
		More: []Edit{{
			Anchor:      "	case errors.IsNotFound(err):\n		// the GraphBuilder can add \"virtual\" node for an owner that doesn't\n",
			Replacement: "	case errors.IsNotFound(err) && !errors.IsUnexpectedServerError(err):\n		// the GraphBuilder can add \"virtual\" node for an owner that doesn't\n",
		}},
	},
})
