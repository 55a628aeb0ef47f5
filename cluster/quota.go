package cluster

import (
	"context"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/model"
)

// MakeSpace checks periodically, until ctx is done, whether members have raised alarms for lack of
// space. It then does what etcd's manual tells operators to do: it compacts the history,
// defragments the members and clears the alarms.
func (c *Cluster) MakeSpace(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	last, was := time.Now(), false
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		is, now := c.Full(), time.Now()
		c.mu.Lock()
		switch {
		case was:
			c.filled[len(c.filled)-1][1] = now
		case is:
			c.filled = append(c.filled, [2]time.Time{last, now})
		}
		c.mu.Unlock()
		if last, was = now, is; ctx.Err() != nil {
			return
		}
		if is {
			// Failures are retried after the next check.
			_ = c.Compact(ctx, c.Revision())
			for _, member := range c.members {
				member.do(func(m etcd.Running) { _ = m.Defragment() })
			}
			if leader := c.Leader(); leader != nil {
				leader.do(func(m etcd.Running) { _ = m.Disarm(ctx) })
			}
		}
	}
}

// Filled returns the spans in which there may have been an alarm, from the check of MakeSpace
// before it to the one after it, with times in nanoseconds since began.
func (c *Cluster) Filled(began time.Time) (all []model.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.filled {
		all = append(all, model.Fault{
			Name: "full", Begin: int64(span[0].Sub(began)), End: int64(span[1].Sub(began)),
			Note: "etcd had no space left within its quota", Processes: MemberNames(c.config.Members),
		})
	}
	return all
}

// Full reports whether a running member has an alarm for lack of space.
func (c *Cluster) Full() bool {
	full := false
	for _, member := range c.members {
		member.do(func(m etcd.Running) { full = full || m.Full() })
	}
	return full
}
