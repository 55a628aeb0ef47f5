package mutant

// storageMutants are bugs of the etcd3 store and of what the cache passes to it, most of them from
// the track record of upstream's own storage correctness suite. Those of the store name no target:
// both caches use it.
var storageMutants = of("", apiserver, []Mutant{
	{
		Name: "B08", Source: "kubernetes/kubernetes #94002, fixed in 1.20", File: etcd3Store,
		Summary: "A list that reads etcd in several chunks requests each at the newest revision.",
		Anchor: `	return func(yield func(listChunk, error) bool) {
		for {
			getResp, err := s.getList(ctx, keyPrefix, opts.Recursive, kubernetes.ListOptions{
				Revision: withRev,
`,
		Replacement: `	asked := withRev
	return func(yield func(listChunk, error) bool) {
		for {
			getResp, err := s.getList(ctx, keyPrefix, opts.Recursive, kubernetes.ListOptions{
				Revision: asked,
`,
		Unseen: "rare: a newest list with a selector and a limit gets to etcd in pieces by the fallback alone, when the cache is too far behind or has no such snapshot; and a write has to come between two pieces",
	},
	{
		Name: "C01", Source: "kubernetes/kubernetes #76624, fixed by #76675 in 1.15; etcd-io/etcd #10681",
		File: etcd3Watcher, Hunt: in("tombstone"),
		Summary: "An event of etcd without the state before it, which was compacted, is logged and skipped " +
			"instead of failing the watch.",
		Anchor: `			if err != nil {
				logWatchChannelErr(err)
				// sendError doesn't guarantee that no more items will be put into resultChan.
`,
		Replacement: "			if err != nil {\n				logWatchChannelErr(err)\n				continue\n",
	},
	{
		Name: "same-key", Source: "kubernetes/kubernetes, the reason for the zero byte in PrepareContinueToken",
		File: continueFile, Hunt: in("calm"),
		Summary: "The next page begins with the last object of the page before.",
		Anchor:  "EncodeContinue(keyLastItem+\"\\x00\", ", Replacement: "EncodeContinue(keyLastItem, ",
	},
	{
		Name: "expired-retry", Source: "kubernetes/kubernetes #123072 with #111387",
		Target: "kubernetes", File: "pkg/storage/etcd3/errors.go",
		// The retries end after 30 s with a list, mostly before a run of a minute asks
		// whether everything has arrived. This one is over sooner.
		Hunt:    in("compact-reconnect"),
		Summary: "The etcd3 store reports a compacted revision as an internal error, which is retried, instead of as 410.",
		Anchor: `	case err == etcdrpc.ErrCompacted:
		return errors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
`,
		Replacement: "	case err == etcdrpc.ErrCompacted:\n		return err\n",
	},
	{
		Name: "k8s-35415", Source: "kubernetes/kubernetes #35415, October 2016", File: etcd3Store,
		Summary:     "An update trusts the cache's copy of the object: for its errors, its preconditions and whether it changes anything.",
		Anchor:      staleUpdatePrecondition,
		Replacement: staleUpdatePrecondition[:len(staleUpdatePrecondition)-2] + "|| true {\n",
		More: []Edit{
			{Anchor: staleUpdateError, Replacement: staleUpdateError[:len(staleUpdateError)-2] + "|| true {\n"},
			{Anchor: staleUpdateEqual, Replacement: "			if !origStateIsCurrent && false {\n				origState, err = getCurrentState()\n"},
		},
	},
	{
		Name: "k8s-35415-shared", Source: "kubernetes/kubernetes #35415, October 2016",
		Target: "kubernetes", File: delegatorFile,
		Summary:     "An update works on the object that the cache holds instead of a copy of it.",
		Anchor:      "		currObj := elem.(*store.Element).Object.DeepCopyObject()\n		return c.storage.GuaranteedUpdate(",
		Replacement: "		currObj := elem.(*store.Element).Object\n		return c.storage.GuaranteedUpdate(",
	},
	{
		Name: "k8s-43152", Source: "kubernetes/kubernetes #43152, March 2017", File: etcd3Store,
		Summary: "An update that fails on the cache's stale copy is not retried on the stored object.",
		Anchor:  staleUpdateError, Replacement: staleUpdateError[:len(staleUpdateError)-2] + "|| true {\n",
	},
	{
		Name: "k8s-48394", Source: "kubernetes/kubernetes #48394, July 2017", File: etcd3Store,
		Summary:     "An update that does not change the cache's stale copy is answered with that copy, and nothing is written.",
		Anchor:      staleUpdateEqual,
		Replacement: "			if !origStateIsCurrent && false {\n				origState, err = getCurrentState()\n",
	},
	{
		Name: "k8s-54780", Source: "kubernetes/kubernetes #54780, October 2017", File: etcd3Store,
		Summary: "An update that does not change the cache's stale copy is answered with the stored object, and lost.",
		Anchor: `				if !bytes.Equal(data, origState.data) {
					// original data changed, restart loop
					continue
				}
`,
		Replacement: "",
	},
	{
		Name: "k8s-113380", Source: "kubernetes/kubernetes #113380, October 2022", File: etcd3Store,
		Summary:     "The answer to a deletion has the resourceVersion of the last update instead of that of the deletion.",
		Anchor:      "			err = s.decoder.Decode(origState.data, out, txnResp.Revision)\n",
		Replacement: "			err = s.decoder.Decode(origState.data, out, origState.rev)\n",
	},
	{
		Name: "k8s-77619", Source: "kubernetes/kubernetes #77619, May 2019", File: etcd3Store,
		Summary:     "A deletion that the cache's stale copy does not allow is not retried on the stored object.",
		Anchor:      "		if err := validateDeletion(ctx, origState.obj); err != nil {\n			if origStateIsCurrent {\n",
		Replacement: "		if err := validateDeletion(ctx, origState.obj); err != nil {\n			if origStateIsCurrent || true {\n",
	},
	{
		Name: "k8s-82303", Source: "kubernetes/kubernetes #82303, September 2019", File: etcd3Store,
		Summary:     "An update whose precondition the cache's stale copy does not meet is a conflict, whatever is stored.",
		Anchor:      staleUpdatePrecondition,
		Replacement: staleUpdatePrecondition[:len(staleUpdatePrecondition)-2] + "|| true {\n",
	},
	{
		Name: "k8s-89828-precondition", Source: "kubernetes/kubernetes #89828, April 2020", File: etcd3Store,
		Summary:     "A deletion whose precondition the cache's stale copy does not meet is a conflict, whatever is stored.",
		Anchor:      "			if err := preconditions.Check(key, origState.obj); err != nil {\n				if origStateIsCurrent {\n",
		Replacement: "			if err := preconditions.Check(key, origState.obj); err != nil {\n				if origStateIsCurrent || true {\n",
	},
	{
		Name: "k8s-89828-deleted", Source: "kubernetes/kubernetes #89828, April 2020", File: etcd3Store,
		Summary:     "The deletion of an object that somebody else has just deleted succeeds.",
		Anchor:      "			origState, err = s.getState(ctx, txnResp.KV, key, v, false, expectTransformOrDecodeError)\n",
		Replacement: "			origState, err = s.getState(ctx, txnResp.KV, key, v, true, expectTransformOrDecodeError)\n",
	},
	{
		Name: "k8s-89828-shared", Source: "kubernetes/kubernetes #89828, April 2020",
		Target: "kubernetes", File: delegatorFile,
		Breaks:      append([]string{"Exact-state", "Any", "Not-older-than", "Initial", "Typed", "Faithful", "Unique", "ErrorRV"}, streams...),
		Summary:     "A deletion clears the resourceVersion of the object that the cache holds instead of that of a copy.",
		Anchor:      "		currObj := elem.(*store.Element).Object.DeepCopyObject()\n		return c.storage.Delete(",
		Replacement: "		currObj := elem.(*store.Element).Object\n		return c.storage.Delete(",
	},
	{
		Name: "k8s-stale-get", Source: "kubernetes/kubernetes, the reproduction stale-get of its storage correctness suite",
		Target: "kubernetes", File: delegatorFile,
		Summary:     "A get of the newest state is served from the cache, however stale.",
		Anchor:      "	if opts.ResourceVersion == \"\" {\n		// If resourceVersion is not specified, serve it from underlying\n",
		Replacement: "	if opts.ResourceVersion == \"\" && !c.cacher.Ready() {\n		// If resourceVersion is not specified, serve it from underlying\n",
	},
	{
		Name: "k8s-stale-list", Target: "kubernetes", File: watchCacheFile,
		Source:      "kubernetes/kubernetes, the reproduction stale-list of its storage correctness suite",
		Summary:     "A list of the newest state is served from the cache, however stale.",
		Anchor:      "		if opts.ResourceVersion == \"\" {\n			return w.waitAndListConsistent(",
		Replacement: "		if opts.ResourceVersion == \"\" && listRV > 0 {\n			return w.waitAndListConsistent(",
	},
	{
		Name: "k8s-123676", Source: "kubernetes/kubernetes #123676, March 2024", Target: "kubernetes", File: watchCacheFile,
		Summary:     "A list of any state asks etcd for its revision, and waits until the cache has reached it.",
		Anchor:      "		if opts.ResourceVersion == \"\" {\n			return w.waitAndListConsistent(",
		Replacement: "		if listRV == 0 {\n			return w.waitAndListConsistent(",
		Unseen:      "by design: a list newer than was asked for breaks no promise, but that it fails while etcd cannot be reached",
	},
	{
		Name: "k8s-125584", Source: "kubernetes/kubernetes #125584, June 2024", Target: "kubernetes", File: cacherFile,
		Summary: "A list of one namespace includes objects of namespaces whose names begin with its name.",
		Anchor: `	preparedKey, err := c.prepareKey(key, opts.Recursive)
	if err != nil {
		return err
	}
`,
		Replacement: `	preparedKey, err := c.prepareKey(key, opts.Recursive)
	if err != nil {
		return err
	}
	if opts.Recursive && len(preparedKey) > len(c.resourcePrefix)+1 {
		preparedKey = strings.TrimRight(preparedKey, "/")
	}
`,
	},
	{
		Name: "k8s-64147", Source: "kubernetes/kubernetes #64147, May 2018", Target: "kubernetes", File: watchCacheFile,
		Summary:     "A list that selects a nonexistent object by name has no resourceVersion.",
		Anchor:      "	return listResp{ResourceVersion: readResourceVersion}, \"\", nil\n",
		Replacement: "	return listResp{}, \"\", nil\n",
	},
	{
		Name: "k8s-60507", Source: "kubernetes/kubernetes #60507, fixed by #60715, March 2018",
		Target: "kubernetes", File: watchCacheFile, Hunt: in("reinit"),
		Summary: "Objects that the cache got from its list have no labels and fields, so that no selector finds them.",
		Anchor: `		toReplace = append(toReplace, &store.Element{
			Key:    key,
			Object: object,
			Labels: objLabels,
			Fields: objFields,
		})
`,
		Replacement: `		_, _ = objLabels, objFields
		toReplace = append(toReplace, &store.Element{
			Key:    key,
			Object: object,
		})
`,
	},
	{
		Name: "k8s-142591", Source: "kubernetes/kubernetes #142591, September 2026, in the cache: the store of 0.37 has it",
		Target: "kubernetes", File: cacherFile,
		Summary:     "The cache's not-found error has no resourceVersion.",
		Anchor:      "			return storage.NewKeyNotFoundError(key, int64(readResourceVersion))\n",
		Replacement: "			return storage.NewKeyNotFoundError(key, 0*int64(readResourceVersion))\n",
	},
})

// What the store does if the cache's copy of an object may be stale.
const (
	staleUpdatePrecondition = `		if err := preconditions.Check(preparedKey, origState.obj); err != nil {
			// If our data is already up to date, return the error
			if origStateIsCurrent {
`
	staleUpdateError = `		ret, ttl, err := s.updateState(origState, tryUpdate)
		if err != nil {
			// If our data is already up to date, return the error
			if origStateIsCurrent {
`
	staleUpdateEqual = `			if !origStateIsCurrent {
				origState, err = getCurrentState()
`
)
