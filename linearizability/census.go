package linearizability

import "github.com/watchsim/watchsim/model"

// judgeSharing judges Shared by the samples since the run has settled, those
// among them that counted more client watches than there may be etcd watches.
// Before that, etcd may still hold watches of connections that are dead, which
// it has not been told. A count alone proves nothing: a connection may break at any
// time, and its watch be open on the next before etcd knows that the last is dead.
// What the count before showed as well is there to stay.
func judgeSharing(f *facts, out *findings) {
	before := map[string]int{} // what the last count of a server showed on etcd
	for census := range model.Each(f.history.Censuses) {
		if census.Phase != model.Serving {
			continue
		}
		held := min(census.EtcdWatches, before[census.Server])
		before[census.Server] = census.EtcdWatches
		if census.Time < f.settled || census.Streams <= f.config.MaxShared {
			continue
		}
		out.judged.Shared++
		if held > f.config.MaxShared {
			out.violate(Shared, notShared, f.inCensus(census).got(int64(census.EtcdWatches)))
		}
	}
}

// judgeLeftovers judges Released by the samples taken after the clients have left,
// and after the server has stopped. A stop before the run has settled is not
// judged: a network that is cut keeps etcd from hearing of it.
func judgeLeftovers(f *facts, out *findings) {
	judged := map[string]bool{}
	for census := range model.Each(f.history.Censuses) {
		if census.Phase == model.Serving || census.Time < f.settled {
			continue
		}
		if census.Phase == model.Stopped && !judged[census.Server] {
			judged[census.Server] = true
			out.judged.Released++
		}
		if left := leftovers(census, f.config.MaxShared); len(left) > 0 {
			out.violate(Released, notReleased, f.inCensus(census))
		}
	}
}

// inCensus returns a witness of a sample, which was to count so many watches on etcd at most.
func (f *facts) inCensus(census *model.Census) Witness {
	return Witness{Client: census.Server, Census: census, Time: census.Time, Want: int64(f.config.MaxShared)}
}

// leftovers lists what a sample counted and should not have.
func leftovers(census *model.Census, own int) []string {
	var left []string
	add := func(count, most int, what string) {
		if count > most {
			left = append(left, model.Plural(count, what))
		}
	}
	add(census.Streams, 0, "client watch")
	add(census.Watchers, 0, "cache watcher")
	if census.Phase == model.Stopped {
		add(census.EtcdWatches, 0, "etcd watch")
		add(census.Goroutines, 0, "goroutine")
	} else {
		// The cache itself goes on watching.
		add(census.EtcdWatches, own, "etcd watch")
	}
	return left
}
