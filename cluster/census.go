package cluster

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

// counted is a census and when it was taken.
type counted struct {
	at     time.Time
	census model.Census
}

// Count takes a census of every API server that is up, now and then periodically until ctx
// is done.
func (c *Cluster) Count(ctx context.Context, phase model.Phase, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		c.CountOnce(phase)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// CountOnce takes a census of every API server that is up.
func (c *Cluster) CountOnce(phase model.Phase) {
	for _, server := range c.servers {
		server.mu.Lock()
		process, running := server.process, server.running
		server.mu.Unlock()
		if running != nil {
			c.count(phase, server.name, process, running)
		}
	}
}

// count takes a census of one server. It is discarded if the server crashes before it is
// complete.
func (c *Cluster) count(phase model.Phase, server string, process *sim.Process, running *handler) {
	census := model.Census{
		Phase: phase, Server: server,
		Streams: running.openStreams(), Watchers: model.Uncounted, Goroutines: process.Goroutines(),
	}
	if counter, ok := running.server.(target.Counter); ok {
		if !c.call("the count of watchers", process, func() { census.Watchers = counter.Watchers() }) {
			return
		}
	}
	// Without a cache, each client watch has its own on etcd, as it should.
	_, counts := running.server.(target.Counter)
	uncached := counts && census.Watchers == model.Uncounted
	for _, member := range c.members {
		member.do(func(m etcd.Running) {
			census.EtcdWatches += m.Watches(server, c.config.Target.Prefix())
			census.Revision = max(census.Revision, m.Revision())
		})
	}
	if uncached && phase == model.Serving {
		census.EtcdWatches = model.Uncounted
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.censuses = append(c.censuses, counted{at: time.Now(), census: census})
}

// left reports whether a census was taken after the clients had left.
func (c *Cluster) left() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.censuses, func(taken counted) bool { return taken.census.Phase == model.Left })
}

// Censuses returns the censuses so far, with times in nanoseconds since began.
func (c *Cluster) Censuses(began time.Time) []model.Census {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]model.Census, len(c.censuses))
	for i, counted := range c.censuses {
		all[i] = counted.census
		all[i].Time = int64(counted.at.Sub(began))
	}
	return all
}

// neighbourKey is of another resource, which the API servers do not watch.
const neighbourKey = "/registry/leases/neighbour"

// Neighbour writes to another resource periodically until ctx is done, through the leader. This
// advances etcd's revision but does not change the watched resource: a cache learns of it only by
// progress notifications. Failed writes are not retried.
func (c *Cluster) Neighbour(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for writes := 1; ; writes++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if leader := c.Leader(); leader != nil {
			leader.do(func(m etcd.Running) { _ = m.Put(ctx, neighbourKey, strconv.Itoa(writes)) })
		}
	}
}
