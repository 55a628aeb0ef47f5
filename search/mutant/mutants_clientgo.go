package mutant

// The files of client-go that mutants edit.
const (
	reflectorFile  = "tools/cache/reflector.go"
	queueFile      = "tools/cache/the_real_fifo.go"
	controllerFile = "tools/cache/controller.go"
)

// clientGoMutants are bugs of client-go's reflector. The informers of every run use it, and so does
// Kubernetes' cacher.
var clientGoMutants = of("", clientGo, []Mutant{
	{
		Name: "D02", Source: "kubernetes/kubernetes #83520, fixed in client-go 0.18", File: reflectorFile,
		Summary: "The reflector reacts to 410 with another watch from the same resourceVersion, forever.",
		Anchor: `					logger.V(4).Info("Watch closed", "reflector", r.name, "type", r.typeDescription, "err", err)
				case apierrors.IsTooManyRequests(err):
`,
		Replacement: `					select {
					case <-stopCh:
						return nil
					case <-r.clock.After(r.delayHandler()):
						continue
					}
				case apierrors.IsTooManyRequests(err):
`,
	},
	{
		Name: "D02-now", Source: "kubernetes/kubernetes #83520, a wrong fix", File: reflectorFile,
		Summary:     "The reflector reacts to 410 with a watch from the server's current state, and skips what it had not seen.",
		Anchor:      "					logger.V(4).Info(\"Watch closed\", \"reflector\", r.name, \"type\", r.typeDescription, \"err\", err)\n				case apierrors.IsTooManyRequests(err):\n",
		Replacement: "					r.setLastSyncResourceVersion(\"0\")\n					continue\n				case apierrors.IsTooManyRequests(err):\n",
	},
	{
		Name: "D01", Source: "kubernetes/kubernetes #59848, fixed for one process by #83520 in client-go 0.18",
		File: reflectorFile, Hunt: in("pair"),
		Summary: "The reflector relists from any state that the server has, however old, instead of one not older than it had seen.",
		Anchor:  "		return \"\"\n	}\n	return r.lastSyncResourceVersion\n", Replacement: "		return \"\"\n	}\n	return \"0\"\n",
	},
	{
		Name: "C01-reflector", Source: "kubernetes/kubernetes #76624: what a deletion without an object came to",
		File: reflectorFile, Hunt: in("calm"), Budget: 20,
		Summary: "The reflector records a deletion's resourceVersion, but not the deletion.",
		Anchor:  "				err := store.Delete(event.Object)\n", Replacement: "				var err error\n",
	},
	{
		Name: "bookmark-ignored", Source: "kubernetes/kubernetes, KEP-956",
		Target: "kubernetes", File: reflectorFile, Hunt: in("idle"),
		Summary: "The reflector ignores bookmarks, so that after a quiet period it resumes from far back.",
		Anchor: `				if meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
					watchListBookmarkReceived = true
				}
`,
		Replacement: `				if meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
					watchListBookmarkReceived = true
				} else {
					continue
				}
`,
	},
	{
		Name: "late-rv", Source: "kubernetes/kubernetes, the reason for propagateRVFromStart", File: reflectorFile,
		Summary:     "The reflector records no resourceVersion before the first event other than ADDED, and gets duplicates after an interruption.",
		Anchor:      "				if propagateRVFromStart || eventReceivedBesidesAdded {\n",
		Replacement: "				if (propagateRVFromStart && false) || eventReceivedBesidesAdded {\n",
	},
	{
		Name: "k8s-115658", File: controllerFile,
		Source:  "kubernetes/kubernetes #115658, fixed by #115620 in client-go 0.27, for objects that were in the queue alone",
		Summary: "A relist does not remove objects that it lacks, so that an informer keeps objects deleted while its watch was down.",
		Anchor: `	if err := clientState.Replace(info.Objects, info.ResourceVersion); err != nil {
		return err
	}
`,
		Replacement: `	for _, obj := range info.Objects {
		if err := clientState.Update(obj); err != nil {
			return err
		}
	}
`,
	},
	{
		Name: "k8s-90581", Source: "kubernetes/kubernetes #90581, fixed by #90825 in client-go 0.19", File: queueFile,
		Summary: "The queue of an informer is closed without its lock, so that a waiting consumer may miss it.",
		Anchor:  "	f.lock.Lock()\n	defer f.lock.Unlock()\n	f.closed = true\n", Replacement: "	f.closed = true\n",
		More: []Edit{{
			Anchor:      "	f.lock.Lock()\n	defer f.lock.Unlock()\n	return f.closed\n",
			Replacement: "	return f.closed\n",
		}},
	},
	{
		Name: "k8s-131266", Source: "kubernetes/kubernetes #131266, fixed in client-go 0.34", File: reflectorFile,
		Summary: "The reflector does not stop a watch that it no longer needs.",
		Anchor:  "		if stopWatcher {\n			w.Stop()\n		}\n", Replacement: "		_ = stopWatcher\n",
	},
	{
		Name: "watchlist-unfinished", Source: "kubernetes/kubernetes, KEP-3157: the reason for watchListBookmarkReceived",
		File:        reflectorFile,
		Summary:     "The reflector takes the initial events for complete if their stream ends before the bookmark that says so.",
		Anchor:      "		if watchListBookmarkReceived {\n			break\n		}\n",
		Replacement: "		if watchListBookmarkReceived || resourceVersion == \"\" {\n			break\n		}\n",
	},
	{
		Name: "batch-twice", Source: "kubernetes/kubernetes, the reason for unique in PopBatch", File: queueFile,
		Summary: "An informer batches two changes of one object as if they were of two objects.",
		Anchor:  "		if unique.Has(id) {\n", Replacement: "		if unique.Has(id) && f.closed {\n",
	},
})
