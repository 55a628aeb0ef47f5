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
		Name:    "D02",
		Summary: "The reflector reacts to 410 with another watch from the same resourceVersion, forever.",
		Source:  "kubernetes/kubernetes #83520, fixed in client-go 0.18",
		File:    reflectorFile,
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
		Name:        "D02-now",
		Summary:     "The reflector reacts to 410 with a watch from the server's current state, and skips what it had not seen.",
		Source:      "kubernetes/kubernetes #83520, a wrong fix",
		File:        reflectorFile,
		Anchor:      "					logger.V(4).Info(\"Watch closed\", \"reflector\", r.name, \"type\", r.typeDescription, \"err\", err)\n				case apierrors.IsTooManyRequests(err):\n",
		Replacement: "					r.setLastSyncResourceVersion(\"0\")\n					continue\n				case apierrors.IsTooManyRequests(err):\n",
	},
	{
		Name:    "D01",
		Summary: "The reflector relists from any state that the server has, however old, instead of one not older than it had seen.",
		Source:  "kubernetes/kubernetes #59848, fixed for one process by #83520 in client-go 0.18",
		File:    reflectorFile,
		Anchor: `		return ""
	}
	return r.lastSyncResourceVersion
`,
		Replacement: `		return ""
	}
	return "0"
`,
		Hunt: in("pair"),
	},
	{
		Name:        "C01-reflector",
		Summary:     "The reflector records a deletion's resourceVersion, but not the deletion.",
		Source:      "kubernetes/kubernetes #76624: what a deletion without an object came to",
		File:        reflectorFile,
		Anchor:      "				err := store.Delete(event.Object)\n",
		Replacement: "				var err error\n",
		Hunt:        in("calm"),
		Budget:      20,
	},
	{
		Name:    "bookmark-ignored",
		Summary: "The reflector ignores bookmarks, so that after a quiet period it resumes from far back.",
		Source:  "kubernetes/kubernetes, KEP-956",
		Target:  "kubernetes",
		File:    reflectorFile,
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
		Hunt: in("idle"),
	},
	{
		Name:        "late-rv",
		Summary:     "The reflector records no resourceVersion before the first event other than ADDED, and gets duplicates after an interruption.",
		Source:      "kubernetes/kubernetes, the reason for propagateRVFromStart",
		File:        reflectorFile,
		Anchor:      "				if propagateRVFromStart || eventReceivedBesidesAdded {\n",
		Replacement: "				if (propagateRVFromStart && false) || eventReceivedBesidesAdded {\n",
	},
	{
		Name:    "k8s-115658",
		Summary: "A relist does not remove objects that it lacks, so that an informer keeps objects deleted while its watch was down.",
		Source:  "kubernetes/kubernetes #115658, fixed by #115620 in client-go 0.27, for objects that were in the queue alone",
		File:    controllerFile,
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
		Name:    "k8s-90581",
		Summary: "The queue of an informer is closed without its lock, so that a waiting consumer may miss it.",
		Source:  "kubernetes/kubernetes #90581, fixed by #90825 in client-go 0.19",
		File:    queueFile,
		Anchor: `	f.lock.Lock()
	defer f.lock.Unlock()
	f.closed = true
`,
		Replacement: "	f.closed = true\n",
		More: []Edit{{
			Anchor: `	f.lock.Lock()
	defer f.lock.Unlock()
	return f.closed
`,
			Replacement: "	return f.closed\n",
		}},
	},
	{
		Name:        "k8s-131266",
		Summary:     "The reflector does not stop a watch that it no longer needs.",
		Source:      "kubernetes/kubernetes #131266, fixed in client-go 0.34",
		File:        reflectorFile,
		Anchor:      "		if stopWatcher {\n			w.Stop()\n		}\n",
		Replacement: "		_ = stopWatcher\n",
	},
	{
		Name:        "watchlist-unfinished",
		Summary:     "The reflector takes the initial events for complete if their stream ends before the bookmark that says so.",
		Source:      "kubernetes/kubernetes, KEP-3157: the reason for watchListBookmarkReceived",
		File:        reflectorFile,
		Anchor:      "		if watchListBookmarkReceived {\n			break\n		}\n",
		Replacement: "		if watchListBookmarkReceived || resourceVersion == \"\" {\n			break\n		}\n",
	},
	{
		Name:        "batch-twice",
		Summary:     "An informer batches two changes of one object as if they were of two objects.",
		Source:      "kubernetes/kubernetes, the reason for unique in PopBatch",
		File:        queueFile,
		Anchor:      "		if unique.Has(id) {\n",
		Replacement: "		if unique.Has(id) && f.closed {\n",
	},
})
