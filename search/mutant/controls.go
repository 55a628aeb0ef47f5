package mutant

// controls are edits that change nothing that a guarantee is about. An oracle that reports one of
// them has false positives.
var controls = []Mutant{
	{
		Name: "control-generation", Target: "kubernetes", Module: apiserver, File: readyFile,
		Summary: "Becoming ready begins no new generation of the cache, so that a watch may register in a later one than the one that admitted it.",
		Anchor:  "		r.generation++\n", Replacement: "",
		Equivalent: "one lock is held while the window is read and the watch registers, and readiness is still checked",
	},
	{
		Name: "control-order", Target: "kubernetes", Module: apiserver, File: watchCacheFile, Budget: 100,
		Summary:     "The cache notes the resourceVersion of an event before the event instead of after it.",
		Anchor:      "		w.history.updateCache(wcEvent)\n		w.resourceVersion = resourceVersion\n",
		Replacement: "		w.resourceVersion = resourceVersion\n		w.history.updateCache(wcEvent)\n",
		Equivalent:  "both happen with the cache's lock held",
	},
	{
		Name: "control-last-seen", Target: "kubernetes", Module: apiserver, File: cacherFile,
		Summary:     "The dispatcher notes the resourceVersion of an event before dispatching it instead of afterwards.",
		Anchor:      "			if event.Type != watch.Bookmark {\n				c.dispatchEvent(&event)\n			}\n			lastProcessedResourceVersion = event.ResourceVersion\n",
		Replacement: "			lastProcessedResourceVersion = event.ResourceVersion\n			if event.Type != watch.Bookmark {\n				c.dispatchEvent(&event)\n			}\n",
		Equivalent:  "one goroutine dispatches events and bookmarks, one after the other",
	},
	{
		Name: "control-deleted-rv", Target: "kubernetes", Module: apiserver, File: cacherFile, Hunt: in("calm"),
		Summary: "The object of a deletion gets its resourceVersion from each watcher instead of once for all.",
		Anchor: `			updateResourceVersion(object, versioner, event.ResourceVersion)
			event.PrevObject = object
`,
		Replacement: "			event.PrevObject = object\n",
		Equivalent:  "convertToWatchEvent sets it as well, to the same value",
	},
	{
		Name: "control-relist", Target: "kubernetes", Module: clientGo, File: reflectorFile,
		Hunt:        []string{"--scenario", "minute", "--faults", "watch-break,reset,compaction"},
		Summary:     "The reflector lists from any state instead of one not older than what it had seen.",
		Anchor:      "		return \"0\"\n	}\n	return r.lastSyncResourceVersion\n",
		Replacement: "		return \"0\"\n	}\n	return \"0\"\n",
		Equivalent:  "the lister of the cache passes no resourceVersion on, and one server has no state older than what it has shown",
	},
	{
		Name: "control-created", Module: etcdClient, File: clientWatchFile,
		Summary:     "etcd's client requests a watch with a copy of the request.",
		Anchor:      "					initReq: *wreq,\n",
		Replacement: "					initReq: func(r watchRequest) watchRequest { return r }(*wreq),\n",
		Equivalent:  "the request is copied either way",
	},
	{
		Name: "control-stop", Target: "cacher", Module: watchsim, File: "cacher/cacher.go", Budget: 100,
		Summary: "Our cacher does not end its watches a second time when it has stopped.",
		Anchor:  "	c.group.Wait()\n	c.watchers.endAll()\n", Replacement: "	c.group.Wait()\n",
		Equivalent: "ingest, which has been waited for, ended them, and a stopped cache registers none",
	},
	{
		Name: "control-deliver", Target: "cacher", Module: watchsim, File: "cacher/watcher.go", Hunt: in("crowd"),
		Summary:     "A watch that has ended may deliver one more event if its client has room.",
		Anchor:      "	select {\n	case <-w.done:\n		return false\n	default:\n	}\n	select { // a send",
		Replacement: "	select { // a send",
		Equivalent:  "a watch delivers nothing after it has skipped an event",
	},
	{
		Name: "control-old-snapshots", Target: "cacher", Module: watchsim, File: "cacher/snapshots.go", Hunt: in("reinit"),
		Summary: "Our cacher keeps the snapshots of the previous generation.",
		Anchor:  "	s.kept, s.from = nil, rv\n", Replacement: "	s.from = rv\n",
		Equivalent: "those below the list are dropped with the next event, and until then none below it is requested",
	},
	{
		Name: "E10", Module: etcdServer, File: kvstoreFile, Hunt: in("tombstone"),
		Summary: "After a crash during a compaction the revision restarts at that of the newest object.",
		Anchor:  "		if s.currentRev < scheduledCompact {\n			s.currentRev = scheduledCompact\n		}\n", Replacement: "",
		Equivalent: "a compaction keeps the newest revision since #18274, which E08 undoes, so that a restart finds it; before, this was etcd-io/etcd #17780",
	},
	{
		Name: "E11", Module: etcdServer, File: kvstoreFile, Hunt: in("tombstone"),
		Summary: "After a restart the revision may lie below the last compaction.",
		Anchor: `		if s.currentRev < s.compactMainRev {
			s.currentRev = s.compactMainRev
		}

		// If the latest revision was a tombstone revision and etcd just compacted
		// it, but crashed right before persisting the FinishedCompactRevision,
		// then it would lead to revision decreasing in bbolt db file. In such
		// a scenario, we should adjust the current revision using the scheduled
		// compact revision on bootstrap when etcd gets started again.
		//
		// See https://github.com/etcd-io/etcd/issues/17780#issuecomment-2061900231
		if s.currentRev < scheduledCompact {
			s.currentRev = scheduledCompact
		}
`,
		Replacement: "",
		Equivalent:  "a compaction keeps the newest revision since #18274, which E08 undoes, so that a restart finds it; before, this was etcd-io/etcd #6633",
	},
}
