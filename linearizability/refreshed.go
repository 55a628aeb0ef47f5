package linearizability

import (
	"time"

	"github.com/watchsim/watchsim/model"
)

// refreshBound is the sum of the delays in Kubernetes' cacher: etcd reports its progress
// every 5 s, with up to a tenth of jitter, and skips a report after an event (v3rpc,
// sendLoop); the cacher schedules the bookmarks of a watch every 60 s
// (defaultBookmarkFrequency) in steps of 1 s, and checks every 1.25 s at most. The rest is for the network.
const refreshBound = 75 * time.Second

// milestones returns etcd's revision over time, as the samples of servers have it.
func (f *facts) milestones() model.Staircase {
	var all []model.Moment
	for census := range model.Each(f.history.Censuses) {
		all = append(all, model.Moment{Time: census.Time, RV: census.Revision})
	}
	return model.NewStaircase(all)
}

// judgeBookmarks judges Refreshed: a client that requested bookmarks learns of each
// revision that etcd has reached, by an event or a bookmark at or above it, within the
// bound. On an idle stream only a bookmark can tell it.
//
// The rule applies after the run has settled. It leaves out slow and stalled consumers,
// streams that end before the bound, and revisions that a stream may have started from:
// Kubernetes sends no bookmark at the RV that a client is known to have. Without samples
// of servers, revisions over time are unknown, and the rule reports nothing. Nor does it
// without a cache: the only bookmarks of Kubernetes' etcd3 store are those that end
// initial events.
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
	// The stream may start at any revision that etcd had reached when it opened.
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
