package mutant

// released are edits of the releases in cluster/released. They are not part of All: they are built
// into other binaries than the project's own.
var released = []Mutant{
	{
		Name: "kubernetes-0.26-A01-fixed", Target: "kubernetes-0.26", Module: apiserver, File: cacherFile,
		Hunt:    in("reinit"),
		Summary: "A watch of Kubernetes 0.26 checks once more that the cache is ready, while holding the lock for registering.",
		Anchor: `	func() {
		c.Lock()
		defer c.Unlock()
		// Update watcher.forget function once we can compute it.
`,
		Replacement: `	if c.Lock(); !c.ready.check() {
		c.Unlock()
		return newErrWatcher(errors.NewServiceUnavailable("the cache is being initialised again")), nil
	}
	func() {
		defer c.Unlock()
		// Update watcher.forget function once we can compute it.
`,
		Equivalent: "it fixes kubernetes/kubernetes #116122, as #116172 does in 1.27",
	},
	{
		Name: "etcd-3.5-E08-fixed", Target: "etcd-3.5", Module: etcdServer, File: "mvcc/key_index.go",
		Hunt:    in("tombstone"),
		Summary: "A compaction of etcd 3.5.12 at the revision of a deletion keeps that deletion.",
		Anchor:  "	genIdx, revIndex := ki.doCompact(atRev, available)\n\n	g := &ki.generations[genIdx]\n",
		Replacement: `	genIdx, revIndex := ki.doCompact(atRev, available)

	if genIdx > 0 {
		ended := &ki.generations[genIdx-1]
		if tomb := ended.revs[len(ended.revs)-1]; tomb.main == atRev {
			available[tomb] = struct{}{}
			ended.revs = ended.revs[len(ended.revs)-1:]
			ki.generations = ki.generations[genIdx-1:]
			return
		}
	}
	g := &ki.generations[genIdx]
`,
		Equivalent: "it fixes etcd-io/etcd #18089, as #18274 does in 3.5.16",
	},
}
