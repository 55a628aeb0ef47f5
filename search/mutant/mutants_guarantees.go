package mutant

// guaranteeMutants show that each guarantee is checked. They are simple, and found in few seeds;
// nobody has shipped them.
var guaranteeMutants = of("", apiserver, []Mutant{
	{
		Name:        "canary",
		Summary:     "The cacher does not dispatch the events whose resourceVersion is a multiple of 23.",
		Target:      "kubernetes",
		File:        cacherFile,
		Anchor:      "			if !watcher.nonblockingAdd(event) {\n",
		Replacement: "			if event.ResourceVersion%23 != 0 && !watcher.nonblockingAdd(event) {\n",
		Budget:      10,
	},
	{
		Name:        "unrefreshed",
		Summary:     "The cacher sends bookmarks every ten minutes instead of every minute. Seen in the scenario idle.",
		Target:      "kubernetes",
		File:        watcherFile,
		Anchor:      "	heartbeatTime := now.Add(bookmarkFrequency)\n",
		Replacement: "	heartbeatTime := now.Add(10 * bookmarkFrequency)\n",
		Hunt:        in("idle"),
	},
	{
		Name:        "unreleased",
		Summary:     "The cacher does not forget a watcher that is stopped.",
		Target:      "kubernetes",
		File:        watcherFile,
		Anchor:      "func (c *cacheWatcher) Stop() {\n	c.forget(false)\n",
		Replacement: "func (c *cacheWatcher) Stop() {\n",
	},
	{
		Name:        "unshared",
		Summary:     "Watches of clients are served by etcd, one each, instead of by the cacher.",
		Target:      "kubernetes",
		File:        delegatorFile,
		Anchor:      "	return c.cacher.Watch(ctx, key, opts)\n",
		Replacement: "	return c.storage.Watch(ctx, key, opts)\n",
		Hunt:        in("calm"),
	},
	{
		Name:        "unisolated",
		Summary:     "The cacher delivers the objects that it holds instead of copies of them.",
		Target:      "kubernetes",
		File:        watcherFile,
		Anchor:      "	return object.DeepCopyObject()\n",
		Replacement: "	return object\n",
	},
	{
		Name:        "unsynced",
		Summary:     "etcd acknowledges writes that its log has not synced.",
		Module:      etcdServer,
		File:        logFile,
		Anchor:      "	err := fileutil.Fdatasync(w.tail().File)\n",
		Replacement: "	var err error\n",
		Hunt:        append(in("minute"), "--faults", "power-loss"),
		Budget:      60,
	},
	{
		Name:        "wall-clock",
		Summary:     "The cacher schedules bookmarks by the wall clock.",
		Target:      "kubernetes",
		File:        cacherFile,
		Anchor:      "		createTime:        clock.Now(),\n",
		Replacement: "		createTime:        clock.Now().Round(0),\n",
		Hunt:        append(in("idle"), "--faults", "clock-jump"),
		Budget:      60,
	},
})
