package linearizability

import "github.com/watchsim/watchsim/model"

// judgeRevisions judges Revision.
func judgeRevisions(f *facts, out *findings) {
	truth := &f.history.Truth
	last := &model.Change{}
	for change := range model.Each(truth.Changes) {
		key := change.Object.Key()
		if !change.Follows(last) {
			out.violate(Revision, revisionBack, Witness{RVs: []int64{last.RV, change.RV}, Key: key})
		}
		if change.RV > truth.Revision {
			out.violate(Revision, revisionBeyond, Witness{RVs: []int64{change.RV}, Key: key, Want: truth.Revision})
		}
		if change.RV >= last.RV {
			last = change
		}
	}
	compacted := int64(0)
	for _, compaction := range truth.Compactions {
		if compaction.RV <= compacted || compaction.RV > truth.Revision {
			out.violate(Revision, compactionBack, Witness{RVs: []int64{compacted, compaction.RV}, Want: truth.Revision})
		}
		compacted = max(compacted, compaction.RV)
	}
	if !f.ordered {
		out.undecided(RevisionsOutOfOrder, "the revisions of etcd's log are out of order, so no other rule was judged")
	}
}
