package mutant

// The files of etcd that mutants edit.
const (
	watchableStoreFile = "storage/mvcc/watchable_store.go"
	watcherGroupFile   = "storage/mvcc/watcher_group.go"
	keyIndexFile       = "storage/mvcc/key_index.go"
	kvstoreFile        = "storage/mvcc/kvstore.go"
	watchServerFile    = "etcdserver/api/v3rpc/watch.go"
	rangeFile          = "etcdserver/v3_server.go"
	clientWatchFile    = "watch.go"
	logFile            = "storage/wal/wal.go"
	serverFile         = "etcdserver/server.go"
	raftFile           = "raft.go"
	txnFile            = "storage/mvcc/kvstore_txn.go"
	batchFile          = "storage/backend/batch_tx.go"
)

// etcdMutants are bugs of etcd's server and of its client.
var etcdMutants = of("", etcdServer, []Mutant{
	{
		Name: "E01", Source: "etcd-io/etcd #15220, fixed by #15237 in 3.5.8", File: watchableStoreFile, Hunt: in("reinit"),
		Summary: "Progress is reported for watches that have not been sent everything yet.",
		Anchor:  "		if _, ok := s.synced.watchers[w]; !ok {\n			return false\n		}\n", Replacement: "",
	},
	{
		Name: "E02", Source: "etcd-io/etcd #17507, fixed by #17557 in 3.5.13",
		File: watchableStoreFile, Hunt: in("silence"),
		Summary:     "A watch without any event so far gets no progress notifications.",
		Anchor:      "		if rev < w.startRev {\n			return false\n		}\n",
		Replacement: "		if rev < w.startRev || w.minRev <= w.startRev {\n			return false\n		}\n",
	},
	{
		Name: "E03", Source: "etcd-io/etcd #20221", File: watchableStoreFile, Hunt: in("quorum"),
		Summary: "Progress is reported below the revision that a watch begins at.",
		Anchor:  "		if rev < w.startRev {\n			return false\n		}\n", Replacement: "",
	},
	{
		Name: "E05", Source: "etcd-io/etcd #15271, fixed by #15492 in 3.5.8", File: watchableStoreFile, Hunt: in("storm"),
		Summary:     "A synced watch does not record what it was sent, and gets all of it again after its member has applied a snapshot.",
		Anchor:      "		w.minRev = rev + 1\n	}\n	s.addVictim(victim)\n",
		Replacement: "		if w.victim {\n			w.minRev = rev + 1\n		}\n	}\n	s.addVictim(victim)\n",
		Unseen:      "rare: it takes three members that keep few log entries after a snapshot, one of them down while more are written, and a watch on that one",
	},
	{
		Name: "E06", Source: "etcd-io/etcd #15248, fixed in 3.5.8",
		Target: "kubernetes", Module: etcdClient, File: clientWatchFile,
		Summary: "After a reconnect the client watches from the revision of the last progress notification instead of the next one.",
		Anchor:  "				nextRev = wr.Header.Revision + 1\n", Replacement: "				nextRev = wr.Header.Revision\n",
	},
	{
		Name: "E07", Source: "etcd-io/etcd #17529, fixed in 3.5.13", File: watchableStoreFile, Hunt: in("storm"),
		Summary:     "A watch whose channel was too full to report a compaction silently skips the gap.",
		Anchor:      "		if w.minRev < compactionRev {\n			// Skip",
		Replacement: "		if w.minRev < compactionRev && w.victim {\n			// Skip",
		Unseen:      "missing workload: 128 responses of one watch have to wait on a stream while another begins on it below a compaction; a client here has one resource",
	},
	{
		Name: "E08", Source: "etcd-io/etcd #18089, fixed by #18274 in 3.5.16", File: keyIndexFile, Hunt: in("tombstone"),
		Summary:     "A compaction at the revision of a deletion removes that deletion, so that a watch from there misses it.",
		Anchor:      "		if tomb := g.revs[len(g.revs)-1].Main; tomb >= atRev {\n",
		Replacement: "		if tomb := g.revs[len(g.revs)-1].Main; tomb > atRev {\n",
	},
	{
		Name: "stale-range", Source: "etcd-io/etcd #741, before 0.5", File: rangeFile, Hunt: in("quorum"),
		Summary:     "A member serves linearizable reads without asking the others.",
		Anchor:      "	if !r.Serializable {\n		err = s.read.LinearizableReadNotify(ctx)\n		trace.Step(\"agreement among raft nodes before linearized reading\")\n",
		Replacement: "	if !r.Serializable {\n		trace.Step(\"agreement among raft nodes before linearized reading\")\n",
	},
	{
		Name: "uncreated", Source: "etcd-io/etcd, the reason for what is pending in sendLoop",
		File: watchServerFile, Hunt: in("reinit"),
		Summary: "Events for a watch whose creation has not been sent to its client yet are dropped.",
		Anchor: `					wrs := append(pending[wresp.WatchID], wr)
					pending[wresp.WatchID] = wrs
					continue
`,
		Replacement: "					continue\n",
	},
	{
		Name: "synced-early", Source: "etcd-io/etcd, the reason for the comparison in watchableStore.watch",
		File: watchableStoreFile, Hunt: in("reinit"),
		Summary:     "A watch from the current revision is considered synced, and misses that revision.",
		Anchor:      "	synced := startRev > s.store.currentRev || startRev == 0\n",
		Replacement: "	synced := startRev >= s.store.currentRev || startRev == 0\n",
	},
	{
		Name: "skipped", Source: "etcd-io/etcd, after #4191: what happens between catching up and being up to date",
		File: watchableStoreFile, Budget: 200,
		Summary: "A watch that has caught up skips the next revision.",
		Anchor:  "		w.minRev = max(curRev+1, w.minRev)\n", Replacement: "		w.minRev = max(curRev+2, w.minRev)\n",
	},
	{
		Name: "resume-start", Source: "etcd-io/etcd, the reason for nextRev in the client",
		Target: "kubernetes", Module: etcdClient, File: clientWatchFile,
		Summary: "After a reconnect the client watches from where the watch originally began.",
		Anchor:  "			ws.initReq.rev = nextRev\n\n", Replacement: "			_ = nextRev\n\n",
	},
	{
		Name: "resume-now", Source: "etcd-io/etcd, the reason for nextRev in the client",
		Module: etcdClient, File: clientWatchFile, Budget: 200,
		Summary:     "After a reconnect the client watches from etcd's current revision.",
		Anchor:      "		ws.id = InvalidWatchID\n		w.resuming = append(w.resuming, ws)\n",
		Replacement: "		ws.id, ws.initReq.rev = InvalidWatchID, 0\n		w.resuming = append(w.resuming, ws)\n",
	},
	{
		Name: "etcd-13766", Source: "etcd-io/etcd #13766, in 3.5.0, fixed in 3.5.3", File: serverFile, Hunt: in("storm"),
		Summary:     "A member records an entry as applied before applying it, and never does if it crashes in between.",
		Anchor:      "			s.consistIndex.SetConsistentApplyingIndex(e.GetIndex(), e.GetTerm())\n",
		Replacement: "			s.consistIndex.SetConsistentApplyingIndex(e.GetIndex(), e.GetTerm())\n			s.consistIndex.SetConsistentIndex(e.GetIndex(), e.GetTerm())\n",
	},
	{
		Name: "etcd-14370", Source: "etcd-io/etcd #14370, fixed in 3.5.5",
		Module: etcdRaft, File: raftFile, Hunt: []string{"--scenario", "minute", "--faults", "power-loss"},
		Summary:     "A leader counts its own acknowledgement of an entry before its log has synced it, and alone loses acknowledged writes.",
		Anchor:      "	r.send(&pb.Message{To: new(r.id), Type: pb.MsgAppResp.Enum(), Index: new(li)})\n	return true\n",
		Replacement: "	r.trk.Progress[r.id].MaybeUpdate(li)\n	r.maybeCommit()\n	return true\n",
	},
	{
		Name: "raft-early-read", Module: etcdRaft, File: raftFile, Hunt: in("quorum"),
		Source:      "etcd-io/raft, the reason for committedEntryInCurrentTerm; section 6.4 of Ongaro's thesis",
		Summary:     "A new leader serves reads before it knows what its predecessor has committed.",
		Anchor:      "		if !r.committedEntryInCurrentTerm() {\n			r.pendingReadIndexMessages",
		Replacement: "		if !r.committedEntryInCurrentTerm() && r.Term == 0 {\n			r.pendingReadIndexMessages",
	},
	{
		Name: "etcd-8411", Source: "etcd-io/etcd #8411, in 3.1", File: watchableStoreFile, Hunt: in("storm"),
		Summary: "Watches of a member that applies a snapshot from its leader do not get its changes.",
		Anchor: `	for wa := range s.synced.watchers {
		wa.restore = true
		s.unsynced.add(wa)
	}
	s.synced = newWatcherGroup()
`,
		Replacement: "",
	},
	{
		Name: "batch-rest", Source: "etcd-io/etcd, the reason for moreRev in syncWatchers",
		File: watchableStoreFile, Hunt: in("storm"),
		Summary:     "A watch that begins more than 1000 revisions back gets the first 1000 of them, and then only new ones.",
		Anchor:      "		if eb.moreRev != 0 {\n			w.minRev = eb.moreRev\n		}\n\n		if w.send(",
		Replacement: "		eb.moreRev = 0\n		if w.send(",
	},
	{
		Name: "kine-compacted", Source: "k3s-io/kine #238, fixed in 0.11; khenidak/london #4; in etcd",
		File: watcherGroupFile, Hunt: in("compact-reconnect"),
		Summary: "A watch from a compacted revision is sent what is left instead of being refused.",
		Anchor:  "		if w.minRev < compactRev {\n			select {\n",
		Replacement: `		if w.minRev < compactRev {
			w.minRev = compactRev
		}
		if w.minRev < compactRev {
			select {
`,
	},
	{
		Name: "kine-676", Source: "k3s-io/kine #676 and #3, in etcd", File: txnFile,
		Summary: "A list reports a revision newer than its read, so that it and a watch from there lack the writes in between.",
		Anchor:  "	return tr.rangeKeys(ctx, key, end, tr.Rev(), ro)\n}\n",
		Replacement: `	if r, err = tr.rangeKeys(ctx, key, end, tr.Rev(), ro); err == nil && ro.Rev <= 0 {
		tr.s.revMu.RLock()
		r.Rev = tr.s.currentRev
		tr.s.revMu.RUnlock()
	}
	return r, err
}
`,
	},
	{
		Name: "etcd-14685", Source: "etcd-io/etcd #14685, fixed by #14730 in 3.5.6",
		File: batchFile, Hunt: []string{"--scenario", "minute", "--faults", "etcd-defrag,etcd-crash"},
		Summary: "A defragmentation commits applied entries without their index, so that a member that crashes meanwhile applies entries twice.",
		Anchor: `	if t.backend.hooks != nil {
		// gofail: var commitBeforePreCommitHook struct{}
		t.backend.hooks.OnPreCommitUnsafe(t)
		// gofail: var commitAfterPreCommitHook struct{}
	}
`,
		Replacement: "",
		More: []Edit{{
			Anchor: "	t.backend.readTx.Lock()\n	t.unsafeCommit(stop)\n",
			Replacement: `	if t.backend.hooks != nil {
		t.backend.hooks.OnPreCommitUnsafe(t)
	}
	t.backend.readTx.Lock()
	t.unsafeCommit(stop)
`,
		}},
	},
})
