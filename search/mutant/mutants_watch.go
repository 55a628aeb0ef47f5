package mutant

const intervalFile = "pkg/storage/cacher/watch_cache_interval.go"

// watchMutants are bugs of how Kubernetes' cacher starts, feeds and ends watches.
var watchMutants = of("kubernetes", apiserver, []Mutant{
	{
		Name: "A10", Source: "kubernetes/kubernetes e9e69356, fixed in 1.7.6 and 1.8",
		File: watcherFile, Hunt: in("calm"), Budget: 20,
		Summary:     "DELETED for an object that left the selection carries the new object, not the last one that matched.",
		Anchor:      "		oldObj := getMutableObject(event.PrevObject)\n",
		Replacement: "		oldObj := getMutableObject(event.Object)\n",
	},
	{
		Name: "deleted-rv", Source: "kubernetes/kubernetes #58545, fixed by #58547 in 1.10",
		File: watcherFile, Hunt: in("calm"),
		Summary: "DELETED carries the resourceVersion of the last update instead of that of the deletion.",
		Anchor: `		updateResourceVersion(oldObj, c.versioner, event.ResourceVersion)
		return &watch.Event{Type: watch.Deleted, Object: oldObj}
`,
		Replacement: "		return &watch.Event{Type: watch.Deleted, Object: oldObj}\n",
	},
	{
		Name: "stopped-watcher", Source: "kubernetes/kubernetes #38670", File: watcherFile, Hunt: in("crowd"),
		Summary: "A watcher that is stopped while its client does not read waits for the client forever.",
		Anchor:  "		sentAt = c.clock.Now()\n	case <-c.done:\n	}\n", Replacement: "		sentAt = c.clock.Now()\n	}\n",
	},
	{
		Name: "undrained", Source: "kubernetes/kubernetes, the reason for the first select in sendWatchCacheEvent",
		File: watcherFile, Hunt: in("reinit"),
		Summary: "A stopped watcher decides for each event separately whether to send it, " +
			"so that it can skip one and send the next.",
		Anchor: `	select {
	case <-c.done:
		return time.Time{}, time.Time{}
	default:
	}

	select {
	case c.result <- *watchEvent:
`,
		Replacement: "	select {\n	case c.result <- *watchEvent:\n",
	},
	{
		Name: "k8s-122805", Source: "kubernetes/kubernetes #122805, January 2024", File: cacherFile,
		Summary:     "A watch of the newest state with initial events gets no bookmark at their end.",
		Anchor:      "		return func() uint64 { return requiredResourceVersion }, nil\n",
		Replacement: "		return func() uint64 { return 0 }, nil\n",
		More: []Edit{{
			Anchor:      "	if opts.SendInitialEvents != nil && *opts.SendInitialEvents && opts.Predicate.AllowWatchBookmarks {\n		// We don't need",
			Replacement: "	if opts.ResourceVersion != \"\" && opts.SendInitialEvents != nil && *opts.SendInitialEvents && opts.Predicate.AllowWatchBookmarks {\n		// We don't need",
		}},
	},
	{
		Name: "k8s-125244", Source: "kubernetes/kubernetes #125244, May 2024", File: watchCacheFile, Hunt: in("reinit"),
		Summary:     "The dispatcher starts before the cache has listed, with another resourceVersion than the list's.",
		Anchor:      "	defer w.RUnlock()\n	return w.storage.ListResourceVersion()\n",
		Replacement: "	defer w.RUnlock()\n	return w.resourceVersion\n",
	},
	{
		Name: "k8s-134831", Source: "kubernetes/kubernetes #134831, October 2025", File: watchCacheFile,
		Summary:     "The initial events of a watch from a resourceVersion are the events since, including deletions, instead of the state.",
		Anchor:      "	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {\n		return w.getIntervalFromStoreLocked(",
		Replacement: "	if opts.SendInitialEvents != nil && *opts.SendInitialEvents && resourceVersion == 0 {\n		return w.getIntervalFromStoreLocked(",
	},
	{
		Name: "k8s-135452", Source: "kubernetes/kubernetes #135452, November 2025", File: cacherFile,
		Summary:     "A watch with initial events from a future resourceVersion is not refused, by the cache or the store.",
		Anchor:      "		err := c.watchCache.waitUntilFreshLocked(ctx, consistentReadSupported, requestedWatchRV)\n",
		Replacement: "		err := c.watchCache.waitUntilFreshLocked(ctx, consistentReadSupported, min(requestedWatchRV, c.watchCache.resourceVersion))\n",
		More: []Edit{{
			File:        etcd3Watcher,
			Anchor:      "		if uint64(wc.initialRev) > currentStorageRV {\n",
			Replacement: "		if uint64(wc.initialRev) > currentStorageRV && wc.initialRev < 0 {\n",
		}},
	},
	{
		Name: "k8s-28966", Source: "kubernetes/kubernetes #28966, July 2016, and #25342", File: cacherFile,
		Summary: "The initial events of a watch of one namespace include objects of namespaces whose names begin with its name.",
		Anchor:  "		if !key.HasPathPrefix(objKey, prefix) {\n",
		Replacement: `		if !key.HasPathPrefix(objKey, prefix) && !strings.HasPrefix(objKey, strings.TrimRight(prefix, "/")) {
`,
	},
	{
		Name: "watchlist-stale", Source: "kubernetes/kubernetes, KEP-3157: the reason for getWatchCacheResourceVersion",
		File:    cacherFile,
		Summary: "A watch of the newest state with initial events begins with any state.",
		Anchor:  "	rv, err := c.storage.GetCurrentResourceVersion(ctx)\n	return rv, err\n", Replacement: "	return 0, nil\n",
	},
	{
		Name: "watchlist-early-end", Source: "kubernetes/kubernetes, KEP-3157: the reason for bookmarkAfterResourceVersion",
		File:        watcherFile,
		Summary:     "A bookmark older than the state that a watch must begin with ends its initial events.",
		Anchor:      "	if event.Type == watch.Bookmark && event.ResourceVersion < c.bookmarkAfterResourceVersion {\n",
		Replacement: "	if event.Type == watch.Bookmark && event.ResourceVersion < c.bookmarkAfterResourceVersion && c.stopped {\n",
	},
	{
		Name: "bookmark-deadline", Source: "kubernetes/kubernetes, KEP-956: the bookmark right before the timeout",
		File: watcherFile, Hunt: in("idle"), Breaks: []string{"Refreshed", "Resumable"},
		Summary:     "A watch gets no bookmark right before its timeout.",
		Anchor:      "	if pretimeoutTime := c.deadline.Add(-2 * time.Second); pretimeoutTime.Before(heartbeatTime) {\n",
		Replacement: "	if pretimeoutTime := c.deadline.Add(-2 * time.Second); pretimeoutTime.Before(heartbeatTime) && c.stopped {\n",
	},
	{
		Name: "interval-overrun", File: intervalFile, Hunt: in("growth"),
		Source:      "kubernetes/kubernetes, the reason for indexValidator in historyCacheIntervalSource",
		Summary:     "A watch that reads the window more slowly than it is overwritten continues with the events that replaced it.",
		Anchor:      "	if valid := s.indexValidator(s.startIndex); !valid {\n",
		Replacement: "	if valid := s.indexValidator(s.startIndex); !valid && s.startIndex < 0 {\n",
	},
	{
		Name: "interval-reset", Source: "kubernetes/kubernetes, the reason why startIndex never decreases in Replace",
		File: historyFile, Hunt: in("reinit"),
		Summary:     "The window of a cache that reinitialises begins at index 0 again, so that a watch takes new events for its old ones.",
		Anchor:      "	w.startIndex = w.endIndex\n	w.removedEventSinceRelist = false\n",
		Replacement: "	w.startIndex, w.endIndex = 0, 0\n	w.removedEventSinceRelist = false\n",
	},
})
