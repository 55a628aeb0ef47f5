package linearizability

import "github.com/watchsim/watchsim/model"

// maxShared is how many watches on etcd a server may hold for one resource, however many
// clients watch.
const maxShared = 1

// judgeSharing judges Shared by the samples taken after the run has settled that have
// more client watches than etcd watches are allowed. Before that, etcd may still have
// watches of dead connections that it has not detected. One sample proves nothing: when
// a connection breaks, its watch may be open on the next connection before etcd detects
// that the old one is dead. So only watches that the previous sample shows as well
// count.
func judgeSharing(f *facts, out *findings) {
	before := map[string]int{} // the etcd watches in the last sample of each server
	for census := range model.Each(f.history.Censuses) {
		if census.Phase != model.Serving {
			continue
		}
		held := min(census.EtcdWatches, before[census.Server])
		before[census.Server] = census.EtcdWatches
		if census.Time < f.settled || census.Streams <= maxShared {
			continue
		}
		out.judged.Shared++
		if held > maxShared {
			out.violate(Shared, notShared, inCensus(census).got(int64(census.EtcdWatches)))
		}
	}
}

// judgeLeftovers judges Released by the samples taken after the clients have left,
// and after the server has stopped. A stop before the run has settled is not
// judged: etcd does not learn of it across a partition.
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
		if len(leftovers(census)) > 0 {
			out.violate(Released, notReleased, inCensus(census))
		}
	}
}

// inCensus returns the witness of a sample, with the number of etcd watches allowed.
func inCensus(census *model.Census) Witness {
	return Witness{Client: census.Server, Census: census, Time: census.Time, Want: maxShared}
}

// leftovers lists what a sample counted that must have been released.
func leftovers(census *model.Census) []string {
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
		// The cache itself keeps watching.
		add(census.EtcdWatches, maxShared, "etcd watch")
	}
	return left
}
