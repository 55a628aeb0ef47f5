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
		Name: "A01",
		Summary: "k/k #116122 without the fix of #116172: a watch that passed the readiness check registers while the cache " +
			"reinitialises, and misses what happens in between.",
		Source:      "kubernetes/kubernetes #116122, fixed by #116172 in 1.27",
		File:        cacherFile,
		Anchor:      "		if generation, _, err := c.ready.checkAndReadGeneration(); generation != readyGeneration || err != nil {\n",
		Replacement: "		if readyGeneration < 0 {\n",
		Hunt:        in("reinit"),
		Breaks:      streams,
	},
	{
		Name: "A03",
		Summary: "A watch that begins with events of the past does not note how far they reached, " +
			"and gets those that were still being dispatched a second time.",
		Source: "kubernetes/kubernetes #73845, fixed in 1.14",
		File:   watcherFile,
		Anchor: `		if event.ResourceVersion > resourceVersion {
			resourceVersion = event.ResourceVersion
		}
		initEventCount++
`,
		Replacement: "		initEventCount++\n",
		Hunt:        in("reinit"),
	},
	{
		Name: "A03-initial",
		Summary: "A watch that begins with the current state does not note its resourceVersion, " +
			"and gets events that the state already has.",
		Source: "kubernetes/kubernetes #73845, for a state newer than what was asked for",
		File:   watcherFile,
		Anchor: `	if cacheInterval.resourceVersion > resourceVersion {
		resourceVersion = cacheInterval.resourceVersion
	}
`,
		Replacement: "",
		Hunt:        in("reinit"),
	},
	{
		Name:        "A04",
		Summary:     "A watch gets every event that is dispatched, whatever resourceVersion it began from.",
		Source:      "kubernetes/kubernetes #24194, fixed by #24208",
		File:        watcherFile,
		Anchor:      "			if event.ResourceVersion > resourceVersion || (",
		Replacement: "			if event.ResourceVersion > 0 || (",
		Hunt:        in("pair"),
	},
	{
		Name: "A06",
		Summary: "Right after a list the window is believed to reach back one event further than it does: " +
			"a watch from just before the list is accepted, and misses the change at the list.",
		Source:      "kubernetes/kubernetes #49956, fixed by #49992 in 1.8",
		File:        historyFile,
		Anchor:      "		oldest = listResourceVersion + 1\n",
		Replacement: "		oldest = listResourceVersion\n",
		Hunt:        in("reinit"),
	},
	{
		Name:        "A07",
		Summary:     "Once the window has an event, a watch from the resourceVersion of the list is refused with 410 though nothing was lost.",
		Source:      "kubernetes/kubernetes #68065, fixed in 1.13",
		File:        historyFile,
		Anchor:      "	case listResourceVersion > 0 && !w.removedEventSinceRelist:\n",
		Replacement: "	case listResourceVersion > 0 && size == 0:\n",
		Hunt:        in("idle"),
	},
	{
		Name:        "A08",
		Summary:     "A window that is not full is mistaken for one that never lost an event, which is wrong once it has grown.",
		Source:      "kubernetes/kubernetes #91415, fixed by #91417 before 1.19",
		File:        historyFile,
		Anchor:      "	case listResourceVersion > 0 && !w.removedEventSinceRelist:\n",
		Replacement: "	case listResourceVersion > 0 && !w.isCacheFullLocked():\n",
		Hunt:        in("growth"),
	},
	{
		Name:        "A11",
		Summary:     "The previous state of an update is dropped, so that an object is not known to have left a selection or stayed in it.",
		Source:      "kubernetes/kubernetes #12721",
		File:        watchCacheFile,
		Anchor:      "	if exists {\n		previousElem := ",
		Replacement: "	if exists && event.Type != watch.Modified {\n		previousElem := ",
		Hunt:        in("calm"),
	},
	{
		Name:        "A13",
		Summary:     "The dispatcher looks for watches of one object in a scope that no watch registers in.",
		Source:      "kubernetes/kubernetes #125133, fixed by #125145 in 1.31, where it befell namespaces",
		File:        cacherFile,
		Anchor:      "			for _, watcher := range c.watchers.allWatchers[namespacedName{namespace: namespace, name: name}] {\n",
		Replacement: "			for _, watcher := range c.watchers.allWatchers[namespacedName{namespace: name, name: name}] {\n",
		Hunt:        in("calm"),
	},
	{
		Name: "A14",
		Summary: "The initial state of a watch that selects one name in all namespaces is looked up under the key of the collection, " +
			"and comes out empty.",
		Source:      "kubernetes/kubernetes #127265, a regression of #124692, fixed in 1.32",
		File:        watchCacheFile,
		Anchor:      "	matchesSingle = matchesSingle && !opts.Recursive\n",
		Replacement: "",
		Hunt:        in("calm"),
	},
	{
		Name:        "A17",
		Summary:     "Watches that were due for a bookmark are not requeued, and get no further ones.",
		Source:      "kubernetes/kubernetes #117014, fixed in 1.28",
		File:        cacherFile,
		Anchor:      "		c.bookmarkWatchers.addWatcherThreadUnsafe(watcher)\n	}\n	c.expiredBookmarkWatchers",
		Replacement: "	}\n	c.expiredBookmarkWatchers",
		Hunt:        in("idle"),
	},
	{
		Name:        "A19",
		Summary:     "A watch with sendInitialEvents does not wait until the cache is as fresh as requested.",
		Source:      "kubernetes/kubernetes #116302, fixed in 1.27",
		File:        cacherFile,
		Anchor:      "	err = c.waitUntilWatchCacheFreshAndForceAllEvents(ctx, requiredResourceVersion, opts)\n",
		Replacement: "	err = nil\n",
		Budget:      100,
	},
	{
		Name:    "A21",
		Summary: "A watch waits for the cache to become fresh while it holds the lock that the cache needs for that.",
		Source:  "kubernetes/kubernetes #117137, fixed in 1.28",
		File:    cacherFile,
		Anchor:  "	err = c.waitUntilWatchCacheFreshAndForceAllEvents(ctx, requiredResourceVersion, opts)\n",
		Replacement: `	c.watchCache.RLock()
	err = c.waitUntilWatchCacheFreshAndForceAllEvents(ctx, requiredResourceVersion, opts)
	c.watchCache.RUnlock()
`,
	},
	{
		Name:        "A22",
		Summary:     "After the time budget for slow watchers has run out, the dispatcher waits for a timer that has fired and was read.",
		Source:      "kubernetes/kubernetes #75547, reverted by #76196",
		File:        cacherFile,
		Anchor:      "			if timer != nil && !timer.Stop() {\n",
		Replacement: "			timer = c.timer\n			if !timer.Stop() {\n",
		Hunt:        in("crowd"),
	},
	{
		Name:        "blocked",
		Summary:     "The cacher waits five seconds for a watcher that does not read, instead of what its time budget has left. Seen in the scenario crowd.",
		Source:      "kubernetes/kubernetes #16916, fixed by #16947 and #37195: no budget at all",
		File:        cacherFile,
		Anchor:      "			timeout := c.dispatchTimeoutBudget.takeAvailable()\n",
		Replacement: "			timeout := c.dispatchTimeoutBudget.takeAvailable() + 5*time.Second\n",
		Hunt:        in("crowd"),
	},
	{
		Name:        "A23",
		Summary:     "An event for which a slow watcher has no room is dropped, and the watcher continues.",
		Source:      "kubernetes/kubernetes #16916, the wrong fix",
		File:        watcherFile,
		Anchor:      "	case <-timer.C:\n		closeFunc()\n		return false\n",
		Replacement: "	case <-timer.C:\n		return false\n",
		Hunt:        in("crowd"),
		Budget:      60,
	},
	{
		Name:        "A26",
		Summary:     "A cacher that stops leaves its watches open.",
		Source:      "kubernetes/kubernetes #74105, fixed by #78029 in 1.16",
		File:        cacherFile,
		Anchor:      "		defer cacher.terminateAllWatchers()\n",
		Replacement: "",
	},
	{
		Name:        "A31",
		Summary:     "A snapshot is the live store instead of a clone, and keeps changing.",
		Source:      "kubernetes/kubernetes #139658, fixed before 1.37",
		File:        btreeFile,
		Anchor:      "snapshot: indexer.Clone()",
		Replacement: "snapshot: indexer",
		Hunt:        in("calm"),
	},
	{
		Name:        "B03",
		Summary:     "A get that waits for a resourceVersion does not request progress from etcd.",
		Source:      "kubernetes/kubernetes 483da2032, fixed in 1.30",
		File:        watchCacheFile,
		Anchor:      "	err := w.waitUntilFreshLocked(ctx, consistentReadSupported, resourceVersion)\n	if err != nil {\n		return nil, false, 0, err\n	}\n",
		Replacement: "	err := w.waitUntilFreshLocked(ctx, consistentReadSupported && false, resourceVersion)\n	if err != nil {\n		return nil, false, 0, err\n	}\n",
		Hunt:        in("idle"),
		Breaks:      []string{"TooLarge", "Most-recent", "Refreshed"},
	},
	{
		Name:        "B06",
		Summary:     "A later page shows the newest state instead of that of the first page.",
		Source:      "kubernetes/kubernetes #130775, fixed in 1.33",
		File:        watchCacheFile,
		Anchor:      "			if continueRV > 0 {\n",
		Replacement: "			if continueRV > 0 && continueRV < 0 {\n",
		Hunt:        in("calm"),
		Budget:      60,
	},
	{
		Name:        "dispatch-stop",
		Summary:     "A watcher is closed while an event is being dispatched to it.",
		Source:      "kubernetes/kubernetes, the reason for watchersToStop in Cacher",
		File:        cacherFile,
		Anchor:      "	if c.dispatching {\n		c.watchersToStop",
		Replacement: "	if c.dispatching && c.stopped {\n		c.watchersToStop",
		Hunt:        in("reinit"),
	},
	{
		Name:        "bookmark-ahead",
		Summary:     "Bookmarks have the resourceVersion of the cache, not of what has been dispatched.",
		Source:      "kubernetes/kubernetes #75474, as its review asked not to",
		File:        cacherFile,
		Anchor:      "				ResourceVersion: lastProcessedResourceVersion,\n",
		Replacement: "				ResourceVersion: max(lastProcessedResourceVersion, c.watchCache.resourceVersion),\n",
		Hunt:        in("reinit"),
	},
	{
		Name:    "bookmark-progress",
		Summary: "Progress that etcd reports is not forwarded to the dispatcher, and bookmarks stay at the last event.",
		Source:  "kubernetes/kubernetes, KEP-1904",
		File:    watchCacheFile,
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
		Hunt: in("idle"),
	},
	{
		Name:    "trigger-previous",
		Summary: "Watches of one node get pods that are on it, but not those that leave it.",
		Source:  "kubernetes/kubernetes, the reason for the previous value in triggerValuesThreadUnsafe",
		File:    cacherFile,
		Anchor: `	if result[0] != prevTriggerValue {
		result = append(result, prevTriggerValue)
	}
`,
		Replacement: "	_ = prevTriggerValue\n",
		Hunt:        in("calm"),
	},
	{
		Name:        "survivors",
		Summary:     "Watches are not ended when the cache reinitialises, and miss what happened in between.",
		Source:      "kubernetes/kubernetes, the reason for terminateAllWatchers in startCaching",
		File:        cacherFile,
		Anchor:      "	c.terminateAllWatchers()\n	err = c.reflector.ListAndWatch(stopChannel)\n",
		Replacement: "	err = c.reflector.ListAndWatch(stopChannel)\n",
		Hunt:        in("reinit"),
		Budget:      60,
	},
	{
		Name:    "old-snapshots",
		Summary: "Snapshots from before the cache reinitialised are kept, and answer for the time in between.",
		Source:  "kubernetes/kubernetes, KEP-4988",
		File:    cacheStorageFile,
		Anchor: `		w.snapshots.Reset()
		if w.snapshottingEnabled.Load() {
`,
		Replacement: "		if w.snapshottingEnabled.Load() {\n",
		Hunt:        in("reinit"),
	},
	{
		Name:        "stale-consistent",
		Summary:     "A read does not wait until the cache has reached the resourceVersion that it needs.",
		Source:      "kubernetes/kubernetes, KEP-2340",
		File:        watchCacheFile,
		Anchor:      "	if resourceVersion == 0 || resourceVersion <= w.resourceVersion {\n		return nil\n	}\n",
		Replacement: "	if resourceVersion == 0 || resourceVersion <= w.resourceVersion || consistentReadSupported {\n		return nil\n	}\n",
		Hunt:        in("calm"),
	},
	{
		Name:        "extra-page",
		Summary:     "A list whose limit is reached by its last object claims that there are more.",
		Source:      "kubernetes/kubernetes, the reason for the comparison in GetList",
		File:        cacherFile,
		Anchor:      "				hasMoreListItems = i < len(resp.Items)-1\n",
		Replacement: "				hasMoreListItems = i >= 0\n",
		Hunt:        in("calm"),
	},
})
