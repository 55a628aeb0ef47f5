package mutant

// jobFixes are fixes of the findings of jobs, cron jobs and the deletion of pods of workloads in docs/findings, from 43 on.
var jobFixes = of(controlPlane, kubernetes, []Mutant{
	{
		Name: "fix-finding-43", File: "pkg/registry/batch/job/strategy.go",
		Summary:     "kube-apiserver lets a suspended Job finish, which has no startTime.",
		Anchor:      "		isSuspendedWithZeroCompletions := ptr.Equal(newJob.Spec.Suspend, ptr.To(true)) && ptr.Equal(newJob.Spec.Completions, ptr.To[int32](0))\n",
		Replacement: "		isSuspended := ptr.Deref(newJob.Spec.Suspend, false)\n",
		More: []Edit{{
			Anchor:      "(isJobFinishedChanged || isStartTimeChanged) && !isSuspendedWithZeroCompletions,\n",
			Replacement: "(isJobFinishedChanged || isStartTimeChanged) && !isSuspended,\n",
		}},
	},
	{
		Name: "fix-finding-44", File: "pkg/apis/batch/validation/validation.go",
		Summary: "kube-apiserver lets the succeeded counter of an Indexed Job decrease after a scale-down, whatever its parallelism is by then.",
		Anchor:  "		if job.Status.Succeeded < oldJob.Status.Succeeded {\n",
		Replacement: `		_, outOfRange := validateIndexesFormat(oldJob.Status.CompletedIndexes, ptr.Deref(job.Spec.Completions, 0))
		if job.Status.Succeeded < oldJob.Status.Succeeded && outOfRange == nil {
`,
	},
	{
		Name: "fix-finding-45", File: "pkg/controller/cronjob/cronjob_controllerv2.go",
		Summary: "The cron job controller adds its unfinished jobs that are missing to the status.",
		Anchor:  "			// a job that they wanted us to adopt.\n",
		Replacement: `			scheduledTime, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
			if err != nil {
				continue
			}
			job, err := jm.jobControl.GetJob(j.Namespace, j.Name)
			if errors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, updateStatus, err
			}
			if job.UID != j.UID || jobutil.IsJobFinished(job) {
				continue
			}
			jobRef, err := getRef(job)
			if err != nil {
				return nil, updateStatus, err
			}
			cronJob.Status.Active = append(cronJob.Status.Active, *jobRef)
			if last := cronJob.Status.LastScheduleTime; last == nil || last.Time.Before(scheduledTime) {
				cronJob.Status.LastScheduleTime = &metav1.Time{Time: scheduledTime.Local()}
			}
			updateStatus = true
`,
	},
	{
		Name: "fix-finding-46", File: "pkg/controller/cronjob/cronjob_controllerv2.go",
		Summary: "The cron job controller does not take a job for the one in the status that it has only the name of.",
		Anchor:  "		_, err := jm.jobControl.GetJob(j.Namespace, j.Name)\n		switch {\n		case errors.IsNotFound(err):\n",
		Replacement: `		job, err := jm.jobControl.GetJob(j.Namespace, j.Name)
		switch {
		case err == nil && job.UID != j.UID:
			deleteFromActiveList(cronJob, j.UID)
			updateStatus = true
			if metav1.IsControlledBy(job, cronJob) && !jobutil.IsJobFinished(job) && !inActiveList(cronJob, job.UID) {
				jobRef, err := getRef(job)
				if err != nil {
					return nil, updateStatus, err
				}
				cronJob.Status.Active = append(cronJob.Status.Active, *jobRef)
			}
		case errors.IsNotFound(err):
`,
	},
	{
		Name: "fix-finding-47", File: "pkg/controller/job/indexed_job_utils.go",
		Summary: "The Job controller takes no index of an Indexed Job for both completed and failed.",
		Anchor:  "	newSucceeded := sets.New[int]()\n",
		Replacement: `	var prevFailed orderedIntervals
	if job.Status.FailedIndexes != nil {
		prevFailed = parseIndexesFromString(logger, *job.Status.FailedIndexes, int(*job.Spec.Completions))
	}
	newSucceeded := sets.New[int]()
`,
		More: []Edit{
			{
				Anchor:      "ix < int(*job.Spec.Completions) && hasJobTrackingFinalizer(p) {\n			newSucceeded.Insert(ix)\n",
				Replacement: "ix < int(*job.Spec.Completions) && hasJobTrackingFinalizer(p) && !prevFailed.has(ix) {\n			newSucceeded.Insert(ix)\n",
			},
			{
				Anchor:      "	newFailed := sets.New[int]()\n",
				Replacement: "	_, succeeded := calculateSucceededIndexes(logger, job, pods)\n	newFailed := sets.New[int]()\n",
			},
			{
				Anchor:      "hasJobTrackingFinalizer(p) && isIndexFailed(logger, job, p) {\n",
				Replacement: "hasJobTrackingFinalizer(p) && isIndexFailed(logger, job, p) && !succeeded.has(ix) {\n",
			},
			{
				File:        jobFile,
				Anchor:      "!jobCtx.prevSucceededIndexes.has(ix) {\n",
				Replacement: "!jobCtx.prevSucceededIndexes.has(ix) && (jobCtx.failedIndexes == nil || !jobCtx.failedIndexes.has(ix)) {\n",
			},
		},
	},
	{
		Name: "fix-finding-48", File: jobFile,
		Summary: "The Job controller records that a Job is to fail even if it cannot delete all of the Job's active pods.",
		Anchor:  "	suspendCondChanged := false\n", Replacement: "	suspendCondChanged, failureTargetAdded := false, false\n",
		More: []Edit{
			{
				Anchor: "			// pod finalizers or pods that are not in the informer's cache yet.\n",
				Replacement: `			// pod finalizers or pods that are not in the informer's cache yet.
			if jobCtx.finishedCondition.Type == batch.JobFailureTarget && (satisfiedExpectations || jobCtx.finishedCondition.Reason == batch.JobReasonPodFailurePolicy) {
				job.Status.Conditions = append(job.Status.Conditions, *jobCtx.finishedCondition)
				failureTargetAdded = true
			}
`,
			},
			{
				Anchor:      "	needsStatusUpdate := suspendCondChanged || active",
				Replacement: "	needsStatusUpdate := suspendCondChanged || failureTargetAdded || active",
			},
		},
	},
	{
		Name: "fix-finding-49", File: "pkg/controller/cronjob/utils.go",
		Summary: "The cron job controller finds the last missed run of uneven schedules.",
		Anchor: `	for t := schedule.Next(potentialEarliest); !t.After(now); t = schedule.Next(t) {
		mostRecentTime = t
	}
`,
		Replacement: `	for goBack := timeBetweenTwoSchedules; mostRecentTime.IsZero(); goBack *= 2 {
		for t := schedule.Next(potentialEarliest); !t.After(now); t = schedule.Next(t) {
			mostRecentTime = t
		}
		potentialEarliest = potentialEarliest.Add(-time.Duration(goBack) * time.Second)
	}
`,
	},
	{
		Name: "fix-finding-50", File: jobFile,
		Summary: "The Job controller removes its finalizer from all pods of a deleted Job, whatever their labels.",
		Anchor:  "		value:     selector.String(),\n	}\n	jm.orphanQueue.Add(orphanPodKey)\n",
		Replacement: `		value:     selector.String(),
	}
	jm.orphanQueue.Add(orphanPodKey)
	pods, err := controller.FilterPodsByOwner(jm.podIndexer, &jobObj.ObjectMeta, controllerKind.Kind, false)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	for _, pod := range pods {
		if hasJobTrackingFinalizer(pod) && !selector.Matches(labels.Set(pod.Labels)) {
			jm.enqueueOrphanPod(pod, false)
		}
	}
`,
		More: []Edit{{
			Anchor: "	// list all pods managed by this Job using the pod indexer\n",
			Replacement: `	if j.DeletionTimestamp != nil {
		selector = labels.Everything()
	}
	// list all pods managed by this Job using the pod indexer
`,
		}},
	},
	{
		Name: "fix-finding-64", Summary: "What a controller has written for an object is kept apart from what it has written for another one of that name.",
		File:        "pkg/controller/util/consistency/consistency.go",
		Anchor:      "	// fast path, already exists\n",
		Replacement: "	owner.Name += \"/\" + string(ownerUID)\n	// fast path, already exists\n",
		More: []Edit{
			{Anchor: `	if record := c.writes[owner]; record != nil && (len(ownerUID) == 0 || record.ownerUID == ownerUID) {
		delete(c.writes, owner)
	}
`, Replacement: `	for name, record := range c.writes {
		if name.Namespace == owner.Namespace && name.Name == owner.Name+"/"+string(record.ownerUID) && (len(ownerUID) == 0 || record.ownerUID == ownerUID) {
			delete(c.writes, name)
		}
	}
`},
			{Anchor: `	record := c.getWrittenRecord(owner)
	if record == nil {
		return nil
	}
	err := record.EnsureReady(c)
	if err == nil {
		c.Clear(owner, record.ownerUID)
		return nil
	}
	return err
`, Replacement: `	var records []*ownerRecord
	c.writesLock.RLock()
	for name, record := range c.writes {
		if name.Namespace == owner.Namespace && name.Name == owner.Name+"/"+string(record.ownerUID) {
			records = append(records, record)
		}
	}
	c.writesLock.RUnlock()
	for _, record := range records {
		if err := record.EnsureReady(c); err != nil {
			return err
		}
		c.Clear(owner, record.ownerUID)
	}
	return nil
`},
		},
	},
	{
		Name: "fix-finding-67", File: jobFile,
		Summary: "The Job controller removes its finalizer from orphaned pods that a workload of another kind has adopted.",
		Anchor: `		if controllerRef.Kind != controllerKind.Kind || controllerRef.APIVersion != batch.SchemeGroupVersion.String() {
			// The pod is controlled by an owner that is not a batch/v1 Job. Do not remove finalizer.
			return nil
		}
`,
		Replacement: `		switch schema.FromAPIVersionAndKind(controllerRef.APIVersion, controllerRef.Kind) {
		case controllerKind,
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"},
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"},
			v1.SchemeGroupVersion.WithKind("ReplicationController"):
		default:
			return nil
		}
`,
		More: []Edit{{
			Anchor:      "		podWriteCallback = func(pod *v1.Pod, job *metav1.OwnerReference) {\n			if job == nil {\n",
			Replacement: "		podWriteCallback = func(pod *v1.Pod, job *metav1.OwnerReference) {\n			if job == nil || job.Kind != controllerKind.Kind || job.APIVersion != batch.SchemeGroupVersion.String() {\n",
		}},
	},
	{
		Name: "fix-finding-68", File: "pkg/controller/controller_utils.go",
		Summary: "A controller deletes a pod only if its workload controls it, and that pod only.",
		Anchor:  "	if err := r.KubeClient.CoreV1().Pods(namespace).Delete(ctx, podID, metav1.DeleteOptions{}); err != nil {\n",
		Replacement: `	pod, err := r.KubeClient.CoreV1().Pods(namespace).Get(ctx, podID, metav1.GetOptions{})
	if err == nil && !metav1.IsControlledBy(pod, accessor) {
		err = apierrors.NewNotFound(v1.Resource("pods"), podID)
	}
	if err == nil {
		err = r.KubeClient.CoreV1().Pods(namespace).Delete(ctx, podID, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		if apierrors.IsConflict(err) {
			err = apierrors.NewNotFound(v1.Resource("pods"), podID)
		}
	}
	if err != nil {
`,
	},
	{
		Name: "fix-finding-69", File: jobFile,
		Summary: "The job controller takes an update that replaces a job for a deletion and a creation.",
		Anchor:  "	curJob := cur.(*batch.Job)\n\n	// never return error\n",
		Replacement: `	curJob := cur.(*batch.Job)
	if curJob.UID != oldJob.UID {
		jm.deleteJob(logger, oldJob)
		jm.addJob(logger, curJob)
		return
	}

	// never return error
`,
	},
})
