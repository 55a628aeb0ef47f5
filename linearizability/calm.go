package linearizability

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/watchsim/watchsim/model"
)

// stallBound exceeds the longest stall of a goroutine, 4 s in the scenario reinit. A
// stall that began before the run healed ends by itself.
const stallBound = 5 * time.Second

// startBound is how long caches may take to initialise when a run begins.
const startBound = 3 * time.Second

// calm says when something was wrong for the requests of a client to a server: sorted spans
// of time that do not overlap.
//
// A fault disturbs from its beginning until the delivery bound after its end, which is
// how long connections may stay silent and clients back off. So does a change of etcd's
// leader, even without a fault: election timeouts may be too short for the network. A run
// begins with caches that initialise. Stalls of goroutines disturb a run that is not steady
// until it heals, and a little longer.
type calm map[link][]span

// link is a client and a server that it sends requests to.
type link struct{ client, server string }

type span struct{ from, to int64 }

// parties are the names of the clients and of the servers in a history.
type parties struct{ clients, servers map[string]bool }

// newCalm returns the spans of each client and each server that it used.
func newCalm(h *model.History, config Config) (calm, parties) {
	all, who := calm{}, parties{map[string]bool{}, map[string]bool{}}
	for op := range model.Each(h.Operations) {
		all[link{op.Client, op.Server}] = nil
	}
	for s := range model.Each(h.Streams) {
		all[link{s.Client, s.Server}] = nil
	}
	for l := range all {
		who.clients[l.client], who.servers[l.server] = true, true
	}
	outages := outagesOf(h, config.DeliveryBound.Nanoseconds())
	for l := range all {
		spans := []span{{0, startBound.Nanoseconds()}}
		if !h.Steady {
			spans = append(spans, span{0, h.Healed + stallBound.Nanoseconds()})
		}
		for fault := range model.Each(h.Faults) {
			if who.reaches(fault, l) {
				spans = append(spans, span{fault.Begin, fault.End + config.DeliveryBound.Nanoseconds()})
			}
		}
		for i := range h.Leaders {
			if at := h.Leaders[i].Time; at > 0 {
				spans = append(spans, span{at - answerBound.Nanoseconds(), at + config.DeliveryBound.Nanoseconds()})
			}
		}
		all[l] = merged(append(spans, outages...))
	}
	return all, who
}

// outagesOf returns the spans in which etcd had no leader, each extended by its own length: a
// client that could not connect for a while may wait for nearly as long again before it retries,
// by gRPC's connection backoff (its delay grows by 1.6). An outage within the delivery bound
// after another continues it, because clients may not have connected in between.
func outagesOf(h *model.History, bound int64) []span {
	var outages []span
	for i := range h.Leaders {
		at := h.Leaders[i].Time
		switch last := len(outages) - 1; {
		case h.Leaders[i].Member != "":
			if last >= 0 && outages[last].to == model.Pending {
				outages[last].to = at
			}
		case last < 0 || outages[last].to != model.Pending && at > outages[last].to+bound:
			outages = append(outages, span{at, model.Pending})
		default:
			outages[last].to = model.Pending
		}
	}
	for o := range model.Each(outages) {
		if o.to != model.Pending {
			o.to += o.to - o.from
		}
	}
	return outages
}

// reaches reports whether a fault may affect a link. One that names clients, servers or links
// between them affects only their requests. All other processes that a fault names are etcd
// members, and a fault on etcd affects everything, except where a server loses only one member:
// it turns to another, or waits.
//
// A slow consumer may affect all others of its servers.
func (p parties) reaches(fault *model.Fault, l link) bool {
	clients, servers, client, server := 0, 0, false, false
	for _, name := range fault.Processes {
		if p.clients[name] {
			clients, client = clients+1, client || name == l.client
		}
		if p.servers[name] {
			servers, server = servers+1, server || name == l.server
		}
	}
	if members := len(fault.Processes) - clients - servers; clients+servers == 0 || members > 1 || slices.Contains(lagging, fault.Name) {
		return true
	}
	return (clients == 0 || client) && (servers == 0 || server)
}

// lagging are the names of the faults that make a consumer fall behind.
var lagging = []string{"slow-consumer", "stalled-consumer", "slow-link"}

// merged sorts spans and joins those that overlap.
func merged(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// during reports whether nothing was wrong for a client and its server throughout an
// interval.
func (c calm) during(client, server string, from, to int64) bool {
	spans := c[link{client, server}]
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to >= from })
	return i == len(spans) || spans[i].from > to
}
