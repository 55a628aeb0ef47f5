package mutant

// guaranteeMutants show that each guarantee is checked. They are simple, and found in few seeds;
// nobody has shipped them.
var guaranteeMutants = of("", apiserver, []Mutant{
	{
		Name: "canary", Target: "kubernetes", File: cacherFile, Budget: 10,
		Summary:     "The cacher does not dispatch the events whose resourceVersion is a multiple of 23.",
		Anchor:      "			if !watcher.nonblockingAdd(event) {\n",
		Replacement: "			if event.ResourceVersion%23 != 0 && !watcher.nonblockingAdd(event) {\n",
	},
	{
		Name: "unrefreshed", Target: "kubernetes", File: watcherFile, Hunt: in("idle"),
		Summary:     "The cacher sends bookmarks every ten minutes instead of every minute. Seen in the scenario idle.",
		Anchor:      "	heartbeatTime := now.Add(bookmarkFrequency)\n",
		Replacement: "	heartbeatTime := now.Add(10 * bookmarkFrequency)\n",
	},
	{
		Name: "unreleased", Target: "kubernetes", File: watcherFile,
		Summary: "The cacher does not forget a watcher that is stopped.",
		Anchor:  "func (c *cacheWatcher) Stop() {\n	c.forget(false)\n", Replacement: "func (c *cacheWatcher) Stop() {\n",
	},
	{
		Name: "unshared", Target: "kubernetes", File: delegatorFile, Hunt: in("calm"),
		Summary: "Watches of clients are served by etcd, one each, instead of by the cacher.",
		Anchor:  "	return c.cacher.Watch(ctx, key, opts)\n", Replacement: "	return c.storage.Watch(ctx, key, opts)\n",
	},
	{
		Name: "unisolated", Target: "kubernetes", File: watcherFile,
		Summary: "The cacher delivers the objects that it holds instead of copies of them.",
		Anchor:  "	return object.DeepCopyObject()\n", Replacement: "	return object\n",
	},
	{
		Name: "unsynced", Module: etcdServer, File: logFile, Hunt: append(in("minute"), "--faults", "power-loss"),
		Budget:  60,
		Summary: "etcd acknowledges writes that its log has not synced.",
		Anchor:  "	err := fileutil.Fdatasync(w.tail().File)\n", Replacement: "	var err error\n",
	},
	{
		Name: "wall-clock", Target: "kubernetes", File: cacherFile, Hunt: append(in("idle"), "--faults", "clock-jump"),
		Budget:  60,
		Summary: "The cacher schedules bookmarks by the wall clock.",
		Anchor:  "		createTime:        clock.Now(),\n", Replacement: "		createTime:        clock.Now().Round(0),\n",
	},
})
