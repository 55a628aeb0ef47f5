package mutant

// The files of k8s.io/apiserver that mutants edit.
const (
	cacherFile       = "pkg/storage/cacher/cacher.go"
	watcherFile      = "pkg/storage/cacher/cache_watcher.go"
	delegatorFile    = "pkg/storage/cacher/delegator.go"
	watchCacheFile   = "pkg/storage/cacher/watch_cache.go"
	historyFile      = "pkg/storage/cacher/watch_cache_history.go"
	readyFile        = "pkg/storage/cacher/ready.go"
	btreeFile        = "pkg/storage/cacher/store/store_btree.go"
	cacheStorageFile = "pkg/storage/cacher/store/watch_cache_storage.go"
	continueFile     = "pkg/storage/continue.go"
	etcd3Watcher     = "pkg/storage/etcd3/watcher.go"
	etcd3Store       = "pkg/storage/etcd3/store.go"
)

// streams are the guarantees that a watch with a gap can break.
var streams = []string{"Reliable", "Bookmarked", "Delivered", "Converged", "Resumable"}

// kubernetesMutants are bugs of Kubernetes' cacher.
var kubernetesMutants = of("kubernetes", apiserver, []Mutant{
	{
		Name: "A01", Source: "kubernetes/kubernetes #116122, fixed by #116172 in 1.27",
		File: cacherFile, Hunt: in("reinit"), Breaks: streams,
		Summary: "k/k #116122 without the fix of #116172: a watch that passed the readiness check registers while the cache " +
			"reinitialises, and misses what happens in between.",
		Anchor:      "		if generation, _, err := c.ready.checkAndReadGeneration(); generation != readyGeneration || err != nil {\n",
		Replacement: "		if readyGeneration < 0 {\n",
	},
	{
		Name: "A03", Source: "kubernetes/kubernetes #73845, fixed in 1.14", File: watcherFile, Hunt: in("reinit"),
		Summary: "A watch that begins with events of the past does not note how far they reached, " +
			"and gets those that were still being dispatched a second time.",
		Anchor: `		if event.ResourceVersion > resourceVersion {
			resourceVersion = event.ResourceVersion
		}
		initEventCount++
`,
		Replacement: "		initEventCount++\n",
	},
	{
		Name: "A03-initial", Source: "kubernetes/kubernetes #73845, for a state newer than what was asked for",
		File: watcherFile, Hunt: in("reinit"),
		Summary: "A watch that begins with the current state does not note its resourceVersion, " +
			"and gets events that the state already has.",
		Anchor: `	if cacheInterval.resourceVersion > resourceVersion {
		resourceVersion = cacheInterval.resourceVersion
	}
`,
		Replacement: "",
	},
	{
		Name: "A04", Source: "kubernetes/kubernetes #24194, fixed by #24208", File: watcherFile, Hunt: in("pair"),
		Summary: "A watch gets every event that is dispatched, whatever resourceVersion it began from.",
		Anchor:  "			if event.ResourceVersion > resourceVersion || (", Replacement: "			if event.ResourceVersion > 0 || (",
	},
	{
		Name: "A06", Source: "kubernetes/kubernetes #49956, fixed by #49992 in 1.8", File: historyFile, Hunt: in("reinit"),
		Summary: "Right after a list the window is believed to reach back one event further than it does: " +
			"a watch from just before the list is accepted, and misses the change at the list.",
		Anchor: "		oldest = listResourceVersion + 1\n", Replacement: "		oldest = listResourceVersion\n",
	},
	{
		Name: "A07", Source: "kubernetes/kubernetes #68065, fixed in 1.13", File: historyFile, Hunt: in("idle"),
		Summary:     "Once the window has an event, a watch from the resourceVersion of the list is refused with 410 though nothing was lost.",
		Anchor:      "	case listResourceVersion > 0 && !w.removedEventSinceRelist:\n",
		Replacement: "	case listResourceVersion > 0 && size == 0:\n",
	},
	{
		Name: "A08", Source: "kubernetes/kubernetes #91415, fixed by #91417 before 1.19",
		File: historyFile, Hunt: in("growth"),
		Summary:     "A window that is not full is mistaken for one that never lost an event, which is wrong once it has grown.",
		Anchor:      "	case listResourceVersion > 0 && !w.removedEventSinceRelist:\n",
		Replacement: "	case listResourceVersion > 0 && !w.isCacheFullLocked():\n",
	},
	{
		Name: "A11", Source: "kubernetes/kubernetes #12721", File: watchCacheFile, Hunt: in("calm"),
		Summary:     "The previous state of an update is dropped, so that an object is not known to have left a selection or stayed in it.",
		Anchor:      "	if exists {\n		previousElem := ",
		Replacement: "	if exists && event.Type != watch.Modified {\n		previousElem := ",
	},
	{
		Name: "A13", Source: "kubernetes/kubernetes #125133, fixed by #125145 in 1.31, where it befell namespaces",
		File: cacherFile, Hunt: in("calm"),
		Summary:     "The dispatcher looks for watches of one object in a scope that no watch registers in.",
		Anchor:      "			for _, watcher := range c.watchers.allWatchers[namespacedName{namespace: namespace, name: name}] {\n",
		Replacement: "			for _, watcher := range c.watchers.allWatchers[namespacedName{namespace: name, name: name}] {\n",
	},
	{
		Name: "A14", Source: "kubernetes/kubernetes #127265, a regression of #124692, fixed in 1.32",
		File: watchCacheFile, Hunt: in("calm"),
		Summary: "The initial state of a watch that selects one name in all namespaces is looked up under the key of the collection, " +
			"and comes out empty.",
		Anchor: "	matchesSingle = matchesSingle && !opts.Recursive\n", Replacement: "",
	},
	{
		Name: "A17", Source: "kubernetes/kubernetes #117014, fixed in 1.28", File: cacherFile, Hunt: in("idle"),
		Summary:     "Watches that were due for a bookmark are not requeued, and get no further ones.",
		Anchor:      "		c.bookmarkWatchers.addWatcherThreadUnsafe(watcher)\n	}\n	c.expiredBookmarkWatchers",
		Replacement: "	}\n	c.expiredBookmarkWatchers",
	},
	{
		Name: "A19", Source: "kubernetes/kubernetes #116302, fixed in 1.27", File: cacherFile, Budget: 100,
		Summary:     "A watch with sendInitialEvents does not wait until the cache is as fresh as requested.",
		Anchor:      "	err = c.waitUntilWatchCacheFreshAndForceAllEvents(ctx, requiredResourceVersion, opts)\n",
		Replacement: "	err = nil\n",
	},
	{
		Name: "A21", Source: "kubernetes/kubernetes #117137, fixed in 1.28", File: cacherFile,
		Summary: "A watch waits for the cache to become fresh while it holds the lock that the cache needs for that.",
		Anchor:  "	err = c.waitUntilWatchCacheFreshAndForceAllEvents(ctx, requiredResourceVersion, opts)\n",
		Replacement: `	c.watchCache.RLock()
	err = c.waitUntilWatchCacheFreshAndForceAllEvents(ctx, requiredResourceVersion, opts)
	c.watchCache.RUnlock()
`,
	},
	{
		Name: "A22", Source: "kubernetes/kubernetes #75547, reverted by #76196", File: cacherFile, Hunt: in("crowd"),
		Summary: "After the time budget for slow watchers has run out, the dispatcher waits for a timer that has fired and was read.",
		Anchor:  "			if timer != nil && !timer.Stop() {\n", Replacement: "			timer = c.timer\n			if !timer.Stop() {\n",
	},
	{
		Name: "blocked", Source: "kubernetes/kubernetes #16916, fixed by #16947 and #37195: no budget at all",
		File: cacherFile, Hunt: in("crowd"),
		Summary:     "The cacher waits five seconds for a watcher that does not read, instead of what its time budget has left. Seen in the scenario crowd.",
		Anchor:      "			timeout := c.dispatchTimeoutBudget.takeAvailable()\n",
		Replacement: "			timeout := c.dispatchTimeoutBudget.takeAvailable() + 5*time.Second\n",
	},
	{
		Name: "A23", Source: "kubernetes/kubernetes #16916, the wrong fix",
		File: watcherFile, Hunt: in("crowd"), Budget: 60,
		Summary: "An event for which a slow watcher has no room is dropped, and the watcher continues.",
		Anchor:  "	case <-timer.C:\n		closeFunc()\n		return false\n", Replacement: "	case <-timer.C:\n		return false\n",
	},
	{
		Name: "A26", Source: "kubernetes/kubernetes #74105, fixed by #78029 in 1.16", File: cacherFile,
		Summary: "A cacher that stops leaves its watches open.",
		Anchor:  "		defer cacher.terminateAllWatchers()\n", Replacement: "",
	},
	{
		Name: "A31", Source: "kubernetes/kubernetes #139658, fixed before 1.37", File: btreeFile, Hunt: in("calm"),
		Summary: "A snapshot is the live store instead of a clone, and keeps changing.",
		Anchor:  "snapshot: indexer.Clone()", Replacement: "snapshot: indexer",
	},
	{
		Name: "B03", Source: "kubernetes/kubernetes 483da2032, fixed in 1.30",
		File: watchCacheFile, Hunt: in("idle"), Breaks: []string{"TooLarge", "Most-recent", "Refreshed"},
		Summary:     "A get that waits for a resourceVersion does not request progress from etcd.",
		Anchor:      "	err := w.waitUntilFreshLocked(ctx, consistentReadSupported, resourceVersion)\n	if err != nil {\n		return nil, false, 0, err\n	}\n",
		Replacement: "	err := w.waitUntilFreshLocked(ctx, consistentReadSupported && false, resourceVersion)\n	if err != nil {\n		return nil, false, 0, err\n	}\n",
	},
	{
		Name: "B06", Source: "kubernetes/kubernetes #130775, fixed in 1.33",
		File: watchCacheFile, Hunt: in("calm"), Budget: 60,
		Summary: "A later page shows the newest state instead of that of the first page.",
		Anchor:  "			if continueRV > 0 {\n", Replacement: "			if continueRV > 0 && continueRV < 0 {\n",
	},
	{
		Name: "dispatch-stop", Source: "kubernetes/kubernetes, the reason for watchersToStop in Cacher",
		File: cacherFile, Hunt: in("reinit"),
		Summary:     "A watcher is closed while an event is being dispatched to it.",
		Anchor:      "	if c.dispatching {\n		c.watchersToStop",
		Replacement: "	if c.dispatching && c.stopped {\n		c.watchersToStop",
	},
	{
		Name: "bookmark-ahead", Source: "kubernetes/kubernetes #75474, as its review asked not to",
		File: cacherFile, Hunt: in("reinit"),
		Summary:     "Bookmarks have the resourceVersion of the cache, not of what has been dispatched.",
		Anchor:      "				ResourceVersion: lastProcessedResourceVersion,\n",
		Replacement: "				ResourceVersion: max(lastProcessedResourceVersion, c.watchCache.resourceVersion),\n",
	},
	{
		Name: "bookmark-progress", Source: "kubernetes/kubernetes, KEP-1904", File: watchCacheFile, Hunt: in("idle"),
		Summary: "Progress that etcd reports is not forwarded to the dispatcher, and bookmarks stay at the last event.",
		Anchor: `			Type:            watch.Bookmark,
			ResourceVersion: rv,
		}
		w.config.eventHandler(wcEvent)
`,
		Replacement: `			Type:            watch.Bookmark,
			ResourceVersion: rv,
		}
		_ = wcEvent
`,
	},
	{
		Name: "trigger-previous", File: cacherFile, Hunt: in("calm"),
		Source:      "kubernetes/kubernetes, the reason for the previous value in triggerValuesThreadUnsafe",
		Summary:     "Watches of one node get pods that are on it, but not those that leave it.",
		Anchor:      "	if result[0] != prevTriggerValue {\n		result = append(result, prevTriggerValue)\n	}\n",
		Replacement: "	_ = prevTriggerValue\n",
	},
	{
		Name: "survivors", Source: "kubernetes/kubernetes, the reason for terminateAllWatchers in startCaching",
		File: cacherFile, Hunt: in("reinit"), Budget: 60,
		Summary:     "Watches are not ended when the cache reinitialises, and miss what happened in between.",
		Anchor:      "	c.terminateAllWatchers()\n	err = c.reflector.ListAndWatch(stopChannel)\n",
		Replacement: "	err = c.reflector.ListAndWatch(stopChannel)\n",
	},
	{
		Name: "old-snapshots", Source: "kubernetes/kubernetes, KEP-4988", File: cacheStorageFile, Hunt: in("reinit"),
		Summary:     "Snapshots from before the cache reinitialised are kept, and answer for the time in between.",
		Anchor:      "		w.snapshots.Reset()\n		if w.snapshottingEnabled.Load() {\n",
		Replacement: "		if w.snapshottingEnabled.Load() {\n",
	},
	{
		Name: "stale-consistent", Source: "kubernetes/kubernetes, KEP-2340", File: watchCacheFile, Hunt: in("calm"),
		Summary:     "A read does not wait until the cache has reached the resourceVersion that it needs.",
		Anchor:      "	if resourceVersion == 0 || resourceVersion <= w.resourceVersion {\n		return nil\n	}\n",
		Replacement: "	if resourceVersion == 0 || resourceVersion <= w.resourceVersion || consistentReadSupported {\n		return nil\n	}\n",
	},
	{
		Name: "extra-page", Source: "kubernetes/kubernetes, the reason for the comparison in GetList",
		File: cacherFile, Hunt: in("calm"),
		Summary: "A list whose limit is reached by its last object claims that there are more.",
		Anchor:  "				hasMoreListItems = i < len(resp.Items)-1\n", Replacement: "				hasMoreListItems = i >= 0\n",
	},
})
