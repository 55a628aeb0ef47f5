package etcd

import (
	"cmp"
	"time"
)

// Tuning changes settings of etcd that most runs leave alone. A zero field means this package's
// default.
type Tuning struct {
	// Tick is the interval of leader heartbeats, in whole milliseconds.
	Tick time.Duration `json:"tick,omitempty"`
	// SnapshotEntries is how many log entries a member applies between two snapshots of
	// its state, and CatchUpEntries how many before the snapshot it keeps in memory. A
	// follower that lags further behind is sent a snapshot.
	SnapshotEntries int `json:"snapshotEntries,omitempty"`
	CatchUpEntries  int `json:"catchUpEntries,omitempty"`
	// CompactionBatch is how many revisions a compaction removes before it pauses.
	CompactionBatch int `json:"compactionBatch,omitempty"`
	// WatchBatch is how many revisions a member sends at a time to an unsynced watch, WatchBuffer
	// how many responses may wait on a watch stream before etcd considers the watch slow, and
	// WatchesPerSync how many unsynced watches it syncs at a time. 0 keeps etcd's defaults. A
	// [Release] that is not a [WatchLimiter] ignores them.
	WatchBatch     int `json:"watchBatch,omitempty"`
	WatchBuffer    int `json:"watchBuffer,omitempty"`
	WatchesPerSync int `json:"watchesPerSync,omitempty"`
	// BatchInterval is how long, and BatchLimit how many writes the database batches
	// before it commits them. Writes lost in a crash are applied again from the log.
	BatchInterval time.Duration `json:"batchInterval,omitempty"`
	BatchLimit    int           `json:"batchLimit,omitempty"`
	// QuotaBytes bounds the database. It also sizes bbolt's memory map and with it the
	// file, which each boot reads completely.
	QuotaBytes int64 `json:"quotaBytes,omitempty"`
}

// The defaults that differ from etcd's own.
const (
	// entriesForever is more log entries than a run ever commits.
	entriesForever = 1 << 40
	// DefaultQuota is enough for 400 writes of small objects.
	DefaultQuota = 900 << 10
)

// completed returns the tuning with defaults in place of zero fields, except those that etcd
// completes itself.
func (t Tuning) completed() Tuning {
	t.Tick = cmp.Or(t.Tick, 100*time.Millisecond)
	t.SnapshotEntries = cmp.Or(t.SnapshotEntries, entriesForever)
	t.CatchUpEntries = cmp.Or(t.CatchUpEntries, entriesForever)
	t.BatchInterval = cmp.Or(t.BatchInterval, time.Second)
	t.QuotaBytes = cmp.Or(t.QuotaBytes, DefaultQuota)
	return t
}
