package mutant

// fixes mend what docs/findings.md tells of. A failure of released code that goes
// away with one of them is explained by that finding.
var fixes = []Mutant{
	{
		Name:        "finding-1-mended",
		Summary:     "etcd answers a request for progress to each watch under its own ID, instead of to all that the client knows.",
		Module:      etcdServer,
		File:        watchableStoreFile,
		Anchor:      "		w.send(WatchResponse{WatchID: responseWatchID, Revision: rev})\n		return true\n",
		Replacement: "		w.send(WatchResponse{WatchID: w.id, Revision: rev})\n",
		Hunt:        in("reinit"),
		Equivalent:  "it mends finding 1",
	},
	{
		Name:        "finding-2-mended",
		Summary:     "etcd's client forgets a watch once etcd has confirmed that it is canceled, instead of when its goroutine has reported.",
		Module:      etcdClient,
		File:        clientWatchFile,
		Anchor:      "					// signal to stream goroutine to update closingc\n",
		Replacement: "					delete(w.substreams, pbresp.WatchId)\n",
		Hunt:        in("pair"),
		Equivalent:  "it mends finding 2",
	},
	{
		Name:        "finding-3-mended",
		Summary:     "The reflector of Kubernetes' cache lists anew after an internal error of its watch, instead of trying the watch again for 30 seconds.",
		Target:      "kubernetes",
		Module:      apiserver,
		File:        cacherFile,
		Anchor:      "	reflector.MaxInternalErrorRetryDuration = time.Second * 30\n",
		Replacement: "",
		Hunt:        in("storm"),
		Equivalent:  "it mends finding 3",
	},
}
