package mutant

// guaranteeMutants show that a guarantee is watched over. They are simple, and found
// in few seeds; nobody has shipped them.
var guaranteeMutants = []Mutant{
	{
		Name:        "canary",
		Summary:     "The cacher does not dispatch the events whose resourceVersion is a multiple of 23.",
		Target:      "kubernetes",
		Module:      apiserver,
		File:        cacherFile,
		Anchor:      "			if !watcher.nonblockingAdd(event) {\n",
		Replacement: "			if event.ResourceVersion%23 != 0 && !watcher.nonblockingAdd(event) {\n",
		Hunt:        in("minute"),
		Budget:      10,
	},
	{
		Name:        "unrefreshed",
		Summary:     "The cacher sends bookmarks every ten minutes instead of every minute. Seen in the scenario idle.",
		Target:      "kubernetes",
		Module:      apiserver,
		File:        watcherFile,
		Anchor:      "	heartbeatTime := now.Add(bookmarkFrequency)\n",
		Replacement: "	heartbeatTime := now.Add(10 * bookmarkFrequency)\n",
		Hunt:        in("idle"),
	},
	{
		Name:        "unreleased",
		Summary:     "The cacher does not forget a watcher that is stopped.",
		Target:      "kubernetes",
		Module:      apiserver,
		File:        watcherFile,
		Anchor:      "func (c *cacheWatcher) Stop() {\n	c.forget(false)\n",
		Replacement: "func (c *cacheWatcher) Stop() {\n",
		Hunt:        in("minute"),
	},
	{
		Name:        "unshared",
		Summary:     "Watches of clients are served by etcd, one for one, instead of by the cacher.",
		Target:      "kubernetes",
		Module:      apiserver,
		File:        delegatorFile,
		Anchor:      "	return c.cacher.Watch(ctx, key, opts)\n",
		Replacement: "	return c.storage.Watch(ctx, key, opts)\n",
		Hunt:        in("calm"),
	},
	{
		Name:        "unisolated",
		Summary:     "The cacher delivers the objects that it holds instead of copies of them.",
		Target:      "kubernetes",
		Module:      apiserver,
		File:        watcherFile,
		Anchor:      "	return object.DeepCopyObject()\n",
		Replacement: "	return object\n",
		Hunt:        in("minute"),
	},
}
