package linearizability

import (
	"time"

	"github.com/watchsim/watchsim/model"
)

// refreshBound is the sum of what Kubernetes' cacher takes: etcd reports its progress
// every 5 s, by chance a tenth later, and skips a report after an event (v3rpc, sendLoop);
// the cacher schedules the bookmarks of a watch every 60 s (defaultBookmarkFrequency) with
// a grain of 1 s, and looks every 1.25 s at the most. The rest is for the network.
const refreshBound = 75 * time.Second

// milestones are what the samples of servers say of etcd's revision.
func (f *facts) milestones() model.Staircase {
	var all []model.Moment
	for census := range model.Each(f.history.Censuses) {
		all = append(all, model.Moment{Time: census.Time, RV: census.Revision})
	}
	return model.NewStaircase(all)
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
// the rule is silent. So it is where there is no cache: Kubernetes' etcd3 store sends no
// bookmarks but the one that ends initial events.
func judgeBookmarks(f *facts, out *findings) {
	if !f.cached {
		return
	}
	milestones := f.milestones()
	for s := range model.Each(f.history.Streams) {
		if s.Bookmarks && s.Err == model.OK && s.Return != model.Pending && readsInTime(s) {
			f.judgeRefreshed(s, milestones, out)
		}
	}
}

func (f *facts) judgeRefreshed(s *model.Stream, milestones model.Staircase, out *findings) {
	closed := f.endOf(s)
	// Whatever etcd had reached when the stream was open may be its start.
	opened := milestones.From(s.Return)
	arrived, idle := 0, false
	for _, reached := range milestones[min(opened+1, len(milestones)):] {
		due := max(reached.Time, f.settled) + f.config.RefreshBound.Nanoseconds()
		if due > closed {
			break
		}
		if reached.RV <= s.RV {
			continue
		}
		for arrived < len(s.Events) && s.Events[arrived].RV < reached.RV {
			arrived++
		}
		if arrived < len(s.Events) && s.Events[arrived].Time <= due {
			idle = idle || s.Events[arrived].Type == model.Bookmark
			continue
		}
		idle = true
		witness := onStream(s, reached.RV).at(due).since(reached.Time)
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
