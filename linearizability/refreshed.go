package linearizability

import (
	"cmp"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// refreshBound is the sum of what Kubernetes' cacher takes: etcd reports its progress
// every 5 s, by chance a tenth later, and skips a report after an event (v3rpc, sendLoop);
// the cacher schedules the bookmarks of a watch every 60 s (defaultBookmarkFrequency) with
// a grain of 1 s, and looks every 1.25 s at the most. The rest is for the network.
const refreshBound = 75 * time.Second

// milestone is a revision that etcd is known to have reached by a time.
type milestone struct{ time, rv int64 }

// milestones are what the samples of servers say of etcd's revision, each at its first
// sight, in order.
func (f *facts) milestones() []milestone {
	var all []milestone
	for i := range f.history.Censuses {
		census := &f.history.Censuses[i]
		all = append(all, milestone{census.Time, census.Revision})
	}
	slices.SortStableFunc(all, func(a, b milestone) int { return cmp.Compare(a.time, b.time) })
	kept := all[:0]
	for _, m := range all {
		if len(kept) == 0 || m.rv > kept[len(kept)-1].rv {
			kept = append(kept, m)
		}
	}
	return kept
}

// judgeBookmarks judges Refreshed: a client that asked for bookmarks learns of
// each revision that etcd has reached, by an event or a bookmark at or above it,
// within the bound. Where events come, they do it; on an idle stream only
// bookmarks can.
//
// The rule begins when the run has settled. It leaves out consumers that do not
// read in time, streams that end before the bound, and revisions that a stream
// may have started from: Kubernetes sends no bookmark at the RV that a client is
// known to have. Without samples of servers nothing is known of revisions over time, and
// the rule is silent.
func judgeBookmarks(f *facts, out *findings) {
	milestones := f.milestones()
	for i := range f.history.Streams {
		s := &f.history.Streams[i]
		if s.Bookmarks && s.Err == model.OK && s.Return != model.Pending && readsInTime(s) {
			f.judgeRefreshed(s, milestones, out)
		}
	}
}

// readsInTime reports whether the stream's consumer takes what arrives, once the
// run has healed.
func readsInTime(s *model.Stream) bool {
	return s.Consumer != slowConsumer && s.Consumer != stalledConsumer
}

func (f *facts) judgeRefreshed(s *model.Stream, milestones []milestone, out *findings) {
	closed := s.Closed
	if closed == model.Pending {
		closed = f.history.End
	}
	// Whatever etcd had reached when the stream was open may be its start.
	opened, _ := slices.BinarySearchFunc(milestones, s.Return, func(m milestone, time int64) int { return cmp.Compare(m.time, time) })
	arrived, idle := 0, false
	for _, reached := range milestones[min(opened+1, len(milestones)):] {
		due := max(reached.time, f.settled) + f.config.RefreshBound.Nanoseconds()
		if due > closed {
			break
		}
		if reached.rv <= s.RV {
			continue
		}
		for arrived < len(s.Events) && s.Events[arrived].RV < reached.rv {
			arrived++
		}
		if arrived < len(s.Events) && s.Events[arrived].Time <= due {
			idle = idle || s.Events[arrived].Type == model.Bookmark
			continue
		}
		idle = true
		witness := onStream(s, reached.rv)
		witness.Time, witness.Since = due, reached.time
		if arrived > 0 {
			witness.Evidence = &s.Events[arrived-1]
		}
		out.violate(Refreshed, notRefreshed, witness)
		break
	}
	if idle {
		out.judged.Refreshed++
	}
}
