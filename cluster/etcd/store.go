package etcd

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/watchsim/watchsim/model"
)

// Store is a server that API servers use in place of etcd. It runs as a single member.
// docs/storage.md shows how to write one.
type Store struct {
	// Start starts the server from the files that earlier lives have left in its folder, or from
	// none. All its goroutines belong to the calling process; a crash ends them at any point, and
	// leaves the files as they are.
	Start func(config StoreConfig) (Services, error)
	// Committed returns the commits, in the order of revisions. It is called after the run, outside
	// of the simulation. The result is the ground truth that all answers are compared with, so it
	// must not come from the code that answers them.
	Committed func(dir string) ([]Commit, error)
}

// StoreConfig is what the harness tells a store.
type StoreConfig struct {
	// Name is the name of the member, and of its host.
	Name string
	// Dir is a folder on that host's disk. It does not exist before the first life.
	Dir string
	// ProgressNotify is the interval of progress notifications for watches that request them.
	ProgressNotify time.Duration
}

// Services are the services of etcd that API servers use. The harness serves them over the network,
// and calls those of KV and Maintenance itself. Requests and answers are those of package
// etcdserverpb; errors are etcd's own (rpctypes.ErrGRPCCompacted), as clients distinguish them.
type Services struct {
	KV          etcdserverpb.KVServer
	Watch       etcdserverpb.WatchServer
	Lease       etcdserverpb.LeaseServer
	Maintenance etcdserverpb.MaintenanceServer
	// Stop ends an orderly life after the last request; nil if there is nothing to do.
	Stop func()
}

// Commit is one change of one key, or a compaction. Changes of one transaction share a revision.
type Commit struct {
	Revision int64
	// Compacted says that the history before the revision was discarded; nothing else is set.
	Compacted bool
	Key       string
	Value     []byte
	// Deleted says that the key was deleted, and Expired that this was because its lease expired.
	Deleted, Expired bool
}

// Running is a running member: etcd's own or another store. Its methods call the server directly,
// not over the network, so in a simulation they must be called from its process.
type Running interface {
	// Ready is closed once the member serves clients.
	Ready() <-chan struct{}
	// Stop shuts the member down as SIGTERM does.
	Stop()

	// Leads and Leaderless say what the member believes, without blocking.
	Leads() (term uint64, leads bool)
	Leaderless() bool
	MoveLeader(ctx context.Context, to string) error

	// Revision is the newest one, OldestRevision the oldest that can still be read, and
	// LastDeletion the newest, among the last lookBack, that deletes a key with the prefix;
	// 0 if there is none.
	Revision() int64
	OldestRevision() int64
	LastDeletion(ctx context.Context, prefix string, lookBack int) (int64, error)

	// Put writes a key without a lease, as any client could.
	Put(ctx context.Context, key, value string) error
	// Compact discards history below revision.
	Compact(ctx context.Context, revision int64) error
	// StartCompactor compacts once a period; asked is called with each revision before that.
	StartCompactor(period time.Duration, asked func(revision int64)) (stop func(), err error)
	Defragment() error
	// Full reports whether an alarm for lack of space stops all writes; Disarm clears it.
	Full() bool
	Disarm(ctx context.Context) error

	// Watches is how many watches a host holds on keys with a prefix; BreakWatches ends
	// its watch streams with a transient error, and returns how many there were.
	Watches(host, prefix string) int
	BreakWatches(host string) int
}

// Truth returns what the store committed to the keys with a prefix. decode turns a stored value
// into an object, whose RV Truth sets. The times of compactions are unknown here and set to
// model.Pending.
func (s *Store) Truth(dir, prefix string, decode func(key string, value []byte) (model.Object, error)) (model.Truth, error) {
	commits, err := s.Committed(dir)
	if err != nil {
		return model.Truth{}, err
	}
	found := truthBuilder{prefix: prefix, decode: decode, last: map[string]model.Object{}}
	found.truth.Revision = 1 // of an empty store, as etcd's
	compacted := int64(0)
	for _, c := range commits {
		switch {
		case c.Compacted && (c.Revision <= compacted || c.Revision > found.truth.Revision):
			return model.Truth{}, fmt.Errorf("expected a compaction above revision %d, up to %d, found %d", compacted, found.truth.Revision, c.Revision)
		case c.Compacted:
			compacted = c.Revision
			found.compact(compacted)
			continue
		case c.Revision < found.truth.Revision || c.Revision < 2:
			return model.Truth{}, fmt.Errorf("expected a revision from %d on, found %d, which changes %s", max(2, found.truth.Revision), c.Revision, c.Key)
		}
		found.truth.Revision = c.Revision
		if err := found.add(write{key: c.Key, value: c.Value, deleted: c.Deleted, expired: c.Expired}, c.Revision); err != nil {
			return model.Truth{}, err
		}
	}
	return found.truth, nil
}
