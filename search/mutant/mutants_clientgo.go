package mutant

const reflectorFile = "tools/cache/reflector.go"

// clientGoMutants are bugs of client-go's reflector. The informers of every run
// stand on it, and below Kubernetes' cacher there is another one.
var clientGoMutants = []Mutant{
	{
		Name:    "D02",
		Summary: "The reflector answers 410 with another watch from the same resourceVersion, for ever.",
		Source:  "kubernetes/kubernetes #83520, fixed in client-go 0.18",
		Module:  clientGo,
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
		Hunt: in("minute"),
	},
	{
		Name:        "D02-now",
		Summary:     "The reflector answers 410 with a watch from wherever the server is, and skips what it had not seen.",
		Source:      "kubernetes/kubernetes #83520, a wrong fix",
		Module:      clientGo,
		File:        reflectorFile,
		Anchor:      "					logger.V(4).Info(\"Watch closed\", \"reflector\", r.name, \"type\", r.typeDescription, \"err\", err)\n				case apierrors.IsTooManyRequests(err):\n",
		Replacement: "					r.setLastSyncResourceVersion(\"0\")\n					continue\n				case apierrors.IsTooManyRequests(err):\n",
		Hunt:        in("minute"),
	},
	{
		Name:    "D01",
		Summary: "The reflector relists from any state that the server has, however old, instead of one not older than it had seen.",
		Source:  "kubernetes/kubernetes #59848, fixed for one process by #83520 in client-go 0.18",
		Module:  clientGo,
		File:    reflectorFile,
		Anchor: `		return ""
	}
	return r.lastSyncResourceVersion
`,
		Replacement: `		return ""
	}
	return "0"
`,
		Hunt:   in("pair"),
		Unseen: "by design: going back in time at RV 0 is told as the observation TimeTravel, and fails no run",
	},
	{
		Name:        "C01-reflector",
		Summary:     "The reflector takes note of a deletion's resourceVersion, and not of the deletion.",
		Source:      "kubernetes/kubernetes #76624: what a deletion without an object came to",
		Module:      clientGo,
		File:        reflectorFile,
		Anchor:      "				err := store.Delete(event.Object)\n",
		Replacement: "				var err error\n",
		Hunt:        in("calm"),
		Budget:      20,
	},
	{
		Name:    "bookmark-ignored",
		Summary: "The reflector ignores bookmarks, so that after a quiet time it resumes from far back.",
		Source:  "kubernetes/kubernetes, KEP-956",
		Target:  "kubernetes",
		Module:  clientGo,
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
		Name:    "late-rv",
		Summary: "The reflector notes no resourceVersion before the first event that is not ADDED, and is sent again what it has after a break.",
		Source:  "kubernetes/kubernetes, the reason for propagateRVFromStart",
		Module:  clientGo,
		File:    reflectorFile,
		Anchor: `				if propagateRVFromStart || eventReceivedBesidesAdded {
`,
		Replacement: `				if (propagateRVFromStart && false) || eventReceivedBesidesAdded {
`,
		Hunt: in("minute"),
	},
}
