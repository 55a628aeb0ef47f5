package linearizability

import (
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// checkShared judges Shared by the censuses since the run has settled, those
// among them that counted more client watches than there may be etcd watches.
// Before that, etcd may still hold watches of connections that are dead, which
// it has not been told. A count alone proves nothing: a connection may break at any
// time, and its watch be open on the next before etcd knows that the last is dead.
// What the count before showed as well is there to stay.
func (c *checker) checkShared() {
	before := map[string]int{} // what the last count of a server showed on etcd
	for i := range c.history.Censuses {
		census := &c.history.Censuses[i]
		if census.Phase != model.Serving {
			continue
		}
		held := min(census.EtcdWatches, before[census.Server])
		before[census.Server] = census.EtcdWatches
		if census.Time < c.settled() || census.Streams <= c.config.SharedMost {
			continue
		}
		c.counts.Shared++
		if held > c.config.SharedMost {
			c.violate(Shared, Witness{Client: census.Server},
				fmt.Sprintf("server %s held %d watches on etcd for %d watches of clients at %s, when at most %d were allowed",
					census.Server, census.EtcdWatches, census.Streams, at(census.Time), c.config.SharedMost))
		}
	}
}

// checkReleased judges Released by the censuses taken after the clients have left,
// and after the server has stopped. A stop before the run has settled is not
// judged: a network that is cut keeps etcd from hearing of it.
func (c *checker) checkReleased() {
	judged := map[string]bool{}
	for i := range c.history.Censuses {
		census := &c.history.Censuses[i]
		if census.Phase == model.Serving || census.Time < c.settled() {
			continue
		}
		if census.Phase == model.Stopped && !judged[census.Server] {
			judged[census.Server] = true
			c.counts.Released++
		}
		if left := leftovers(census, c.config.SharedMost); len(left) > 0 {
			when := "after its clients had left"
			if census.Phase == model.Stopped {
				when = "after it had been stopped"
			}
			c.violate(Released, Witness{Client: census.Server},
				fmt.Sprintf("server %s still held %s at %s, %s", census.Server, enumerate(left), at(census.Time), when))
		}
	}
}

// leftovers lists what a census counted and should not have.
func leftovers(census *model.Census, own int) []string {
	var left []string
	add := func(count, most int, what string) {
		if count > most {
			left = append(left, fmt.Sprintf("%d %s", count, what))
		}
	}
	add(census.Streams, 0, "watches of clients")
	add(census.Watchers, 0, "watchers in its cache")
	if census.Phase == model.Stopped {
		add(census.EtcdWatches, 0, "watches on etcd")
		add(census.Goroutines, 0, "goroutines")
	} else {
		// The cache itself goes on watching.
		add(census.EtcdWatches, own, "watches on etcd")
	}
	return left
}

// enumerate joins clauses as a sentence does.
func enumerate(parts []string) string {
	text := parts[len(parts)-1]
	for _, part := range slices.Backward(parts[:len(parts)-1]) {
		text = part + " and " + text
	}
	return text
}
