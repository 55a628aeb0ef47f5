package cacher

import (
	"sync"
	"time"
)

// compactionPeriod is the interval of reading the storage's compacted revision.
const compactionPeriod = 15 * time.Second

// compaction knows below which revision the storage has compacted its history. The cache then
// discards it too, so that a list gets the same answer from both.
type compaction struct {
	mu       sync.Mutex
	revision int64
}

// pollCompaction runs until the cache is stopped.
func (c *Cacher) pollCompaction() {
	tick := c.config.Clock.NewTicker(compactionPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C():
			c.compactIfNeeded()
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *Cacher) compactIfNeeded() {
	revision := c.config.Storage.CompactRevision()
	c.compaction.mu.Lock()
	defer c.compaction.mu.Unlock()
	if revision > c.compaction.revision {
		c.compaction.revision = revision
		c.state.compact(uint64(revision))
	}
}

// CompactRevision implements storage.Interface.
func (c *Cacher) CompactRevision() int64 {
	if !c.snapshotting {
		return c.config.Storage.CompactRevision()
	}
	c.compaction.mu.Lock()
	defer c.compaction.mu.Unlock()
	return c.compaction.revision
}
