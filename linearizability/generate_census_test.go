package linearizability_test

import (
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// census counts what the servers hold, in a phase of the run. Caches that do not
// tell how many watchers they have are as good as those that do.
func (w *world) census(at int64, phase model.Phase, etcdWatches func() int) {
	for _, s := range w.servers {
		census := model.Census{Time: at, Phase: phase, Server: s.name, Revision: w.revision, EtcdWatches: etcdWatches()}
		if phase == model.Serving {
			for _, open := range w.streams {
				if open.server == s {
					census.Streams++
				}
			}
		}
		if phase != model.Stopped {
			census.Goroutines = 20 + w.below(20) + census.Streams
		}
		if census.Watchers = census.Streams; w.below(4) == 0 {
			census.Watchers = model.Uncounted
		}
		w.h.Censuses = append(w.h.Censuses, census)
	}
}

// countEarly counts before the run has settled, when etcd may still hold watches
// of connections that are dead.
func (w *world) countEarly() {
	w.census(w.now, model.Serving, func() int { return w.below(9) })
}

// countLate counts when the run has settled, when the clients have left, and when
// the servers have been stopped. A cache that lists has no watch on etcd.
func (w *world) countLate() {
	settled := w.h.Healed + linearizability.DefaultConfig().DeliveryBound.Nanoseconds()
	own := func() int { return min(w.below(8), 1) }
	for i := range int64(3) {
		w.census(settled+i*time.Second.Nanoseconds(), model.Serving, own)
	}
	w.census(w.h.End+step, model.Left, own)
	w.census(w.h.End+2*step, model.Stopped, func() int { return 0 })
}
