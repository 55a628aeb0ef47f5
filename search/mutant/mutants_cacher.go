package mutant

// cacherMutants are the bugs of other caches, put into ours. Bugs for which its design has no place
// are left out.
var cacherMutants = of("cacher", watchsim, []Mutant{
	{
		Name: "cacher-A01", Source: "kubernetes/kubernetes #116122, in our cacher",
		File: "cacher/watch.go", Hunt: in("reinit"),
		Summary: "A watch registers without checking that the cache is still ready, and misses what happens before it is again.",
		Anchor: `	if err := s.readiness.refusal(); err != nil {
		return nil, err
	}
	var initial *initialState
`,
		Replacement: "	var initial *initialState\n",
	},
	{
		Name: "cacher-A04", Source: "kubernetes/kubernetes #24194, in our cacher",
		File: "cacher/watcher.go", Hunt: in("pair"),
		Summary: "A watch gets events at and below the resourceVersion that it began from.",
		Anchor:  "	if e.rv <= w.start {\n", Replacement: "	if e.rv == 0 {\n",
	},
	{
		Name: "cacher-A06", Source: "kubernetes/kubernetes #49956, in our cacher",
		File: "cacher/log.go", Hunt: in("reinit"),
		Summary: "The window claims to reach back one event further than it does.",
		Anchor:  "	if rv < l.floor {\n", Replacement: "	if rv+1 < l.floor {\n",
	},
	{
		Name: "cacher-A07", Source: "kubernetes/kubernetes #68065, in our cacher",
		File: "cacher/log.go", Hunt: in("reinit"),
		Summary: "A watch from the resourceVersion of the list is refused with 410 although nothing was lost.",
		Anchor:  "	l.floor = floor\n", Replacement: "	l.floor = floor + 1\n",
	},
	{
		Name: "cacher-A10", Source: "kubernetes/kubernetes e9e69356, in our cacher",
		File: "cacher/filter.go", Hunt: in("calm"),
		Summary: "DELETED for an object that left the selection carries the new object, not the last one that matched.",
		Anchor:  "		left := e.before.object.DeepCopyObject()\n", Replacement: "		left := e.after.object.DeepCopyObject()\n",
	},
	{
		Name: "cacher-A11", Source: "kubernetes/kubernetes #12721, in our cacher",
		File: "cacher/state.go", Hunt: in("calm"),
		Summary:     "The previous state of an update is not kept.",
		Anchor:      "	if before := s.tree.get(e.key); before != nil {\n",
		Replacement: "	if before := s.tree.get(e.key); before != nil && e.kind == watch.Deleted {\n",
	},
	{
		Name: "cacher-A13", Source: "kubernetes/kubernetes #125133, in our cacher",
		File: "cacher/watchers.go", Hunt: in("calm"), Budget: 60,
		Summary:     "Watches of one object register in one group and are woken for the objects of another.",
		Anchor:      "				visit(groupKey{prefix, nameField, state.fields[nameField]})\n",
		Replacement: "				visit(groupKey{prefix, nameField, state.key})\n",
	},
	{
		Name: "cacher-A17", Source: "kubernetes/kubernetes #117014, in our cacher",
		File: "cacher/bookmarks.go", Hunt: in("idle"),
		Summary: "A watch gets one bookmark, and no other.",
		Anchor:  "		first.bookmarks.next = first.nextBookmark(now)\n", Replacement: "		first.bookmarks.next = time.Time{}\n",
	},
	{
		Name: "cacher-A19", Source: "kubernetes/kubernetes #116302, in our cacher", File: "cacher/watch.go",
		Summary: "A watch with sendInitialEvents does not wait until the cache is as fresh as requested.",
		Anchor:  "		return c.waitFresh(ctx, start.rv)\n", Replacement: "		return nil\n",
	},
	{
		Name: "cacher-A31", Source: "kubernetes/kubernetes #139658, in our cacher",
		File: "cacher/snapshots.go", Hunt: in("calm"), Budget: 60,
		Summary:     "A snapshot is the live tree instead of a clone.",
		Anchor:      "	taken := snapshot{rv: s.changed, tree: s.tree.clone()}\n",
		Replacement: "	taken := snapshot{rv: s.changed, tree: s.tree}\n",
	},
	{
		Name: "cacher-B06", Source: "kubernetes/kubernetes #130775, in our cacher",
		File: "cacher/list.go", Hunt: in("calm"),
		Summary:     "A later page shows any state not older than that of the first page.",
		Anchor:      "			return c.planExact(uint64(continued), from, true), nil\n",
		Replacement: "			return listPlan{rv: uint64(continued), from: from}, nil\n",
	},
	{
		Name: "cacher-D02", Source: "kubernetes/kubernetes #83520, a wrong fix, in our cacher", File: "cacher/ingest.go",
		Summary: "The cache resumes its watch of the storage one revision too late, and misses an event.",
		Anchor:  "c.openWatch(fmt.Sprint(c.state.rv), false)", Replacement: "c.openWatch(fmt.Sprint(c.state.rv+1), false)",
	},
	{
		Name: "cacher-shared-stream", Source: "finding 1 of docs/findings", File: "cacher/fresh.go", Hunt: in("rewatch"),
		Summary:     "All watches of the cache share a stream to etcd, and the answer for an old one is taken for the new one's.",
		Anchor:      "\"watch-cache\", fmt.Sprintf(\"%s-%d\", name, number))",
		Replacement: "\"watch-cache\", fmt.Sprintf(\"%s-%d\", name, number*0))",
	},
	{
		Name: "cacher-bookmark-ahead", Source: "kubernetes/kubernetes #75474, as its review asked not to, in our cacher",
		File: "cacher/state.go", Hunt: in("crowd"),
		Summary: "A watch assumes that it has read the whole log, and its bookmark covers events that it has not sent.",
		Anchor:  "	if held && position+uint64(count) == s.log.end {\n", Replacement: "	if held {\n",
	},
	{
		Name: "cacher-lost-wake", Source: "a lost wake-up", File: "cacher/watcher.go", Hunt: in("reinit"),
		Summary: "A watch that was woken while running goes to sleep without checking, and skips what it was woken for.",
		Anchor:  "		case w.wakeUpTo > w.cursor:\n			w.mu.Unlock()\n", Replacement: "",
	},
	{
		Name: "cacher-trigger-previous", File: "cacher/watchers.go", Hunt: in("calm"),
		Source:  "kubernetes/kubernetes, the reason for the previous value in triggerValuesThreadUnsafe, in our cacher",
		Summary: "Watches of one node get pods that are on it, but not those that leave it.",
		Anchor:  "	states := [2]*element{e.after, e.before}\n", Replacement: "	states := [2]*element{e.after, nil}\n",
	},
	{
		Name: "cacher-stale-consistent", Source: "kubernetes/kubernetes, KEP-2340, in our cacher",
		File: "cacher/list.go", Hunt: in("calm"), Budget: 60,
		Summary:     "A consistent list does not ask etcd for its current revision.",
		Anchor:      "	if plan.consistent {\n		var err error\n",
		Replacement: "	if plan.consistent && rv != 0 {\n		var err error\n",
	},
	{
		Name: "cacher-survivors", File: "cacher/ingest.go", Hunt: in("reinit"),
		Source:  "kubernetes/kubernetes, the reason for terminateAllWatchers in startCaching, in our cacher",
		Summary: "Watches are not ended when the cache reinitialises, and miss what happened in between.",
		Anchor:  "		c.watchers.endAll()\n", Replacement: "",
	},
	{
		Name: "cacher-undo", Source: "ours", File: "cacher/snapshots.go", Hunt: in("calm"),
		Summary:     "A past state that is derived from a newer one lacks the objects that were deleted in between.",
		Anchor:      "		if e.before != nil {\n			state.put(e.before)\n",
		Replacement: "		if e.before != nil && e.kind != watch.Deleted {\n			state.put(e.before)\n",
	},
	{
		Name: "cacher-unisolated", Source: "ours", File: "cacher/payload.go",
		Summary: "Watches deliver the object that they share.",
		Anchor:  "	return &delivery{metaObject: shared.object, payload: shared}\n", Replacement: "	return shared.object\n",
	},
	{
		Name: "cacher-unreleased", Source: "ours", File: "cacher/watcher.go",
		Summary: "A watch that has ended is still woken.",
		Anchor:  "	w.cacher.watchers.remove(w)\n", Replacement: "",
	},
})
