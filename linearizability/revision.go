package linearizability

import "fmt"

// checkRevision judges Revision and reports whether the truth can serve as the
// order that everything else is judged by. If etcd's own log is out of order,
// nothing else is judged.
func (c *checker) checkRevision() bool {
	truth := &c.history.Truth
	last, sound := int64(0), true
	for i := range truth.Changes {
		change := &truth.Changes[i]
		key := change.Object.Key()
		if change.RV <= last {
			sound = false
			c.violate(Revision, Witness{RVs: []int64{last, change.RV}},
				fmt.Sprintf("etcd committed the change to %s at RV %d after one at RV %d", key, change.RV, last))
		}
		if change.RV > truth.Revision {
			sound = false
			c.violate(Revision, Witness{RVs: []int64{change.RV}},
				fmt.Sprintf("etcd committed the change to %s at RV %d but ended at revision %d", key, change.RV, truth.Revision))
		}
		last = max(last, change.RV)
	}
	compacted := int64(0)
	for _, compaction := range truth.Compactions {
		if compaction.RV <= compacted || compaction.RV > truth.Revision {
			c.violate(Revision, Witness{RVs: []int64{compacted, compaction.RV}},
				fmt.Sprintf("etcd accepted a compaction at revision %d after one at %d, with %d its last revision",
					compaction.RV, compacted, truth.Revision))
		}
		compacted = max(compacted, compaction.RV)
	}
	if !sound {
		c.undecided("etcd's own revisions are out of order, so no other rule was judged")
	}
	return sound
}
