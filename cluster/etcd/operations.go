package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3compactor"
	"go.uber.org/zap"
)

// Revision returns the last revision the member has applied.
func (m *Member) Revision() int64 { return m.server.Server.KV().Rev() }

// Leads reports whether the member believes it is the leader, and the term of the last
// entry that it has applied. It does not block.
func (m *Member) Leads() (term uint64, leads bool) {
	return m.server.Server.Term(), m.release.ID(m.server.Server) == m.server.Server.Leader()
}

// Leaderless reports whether the member knows of no leader. It does not block.
func (m *Member) Leaderless() bool { return m.server.Server.Leader() == 0 }

// Compact discards history below revision, as kube-apiserver's compactor does every few
// minutes. It fails with etcd's ErrCompacted or ErrFutureRev if there is nothing to
// discard.
func (m *Member) Compact(ctx context.Context, revision int64) error {
	_, err := m.server.Server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: revision})
	return err
}

// Put writes a key without a lease, as any client of etcd could.
func (m *Member) Put(ctx context.Context, key, value string) error {
	_, err := m.server.Server.Put(ctx, &etcdserverpb.PutRequest{Key: []byte(key), Value: []byte(value)})
	return err
}

// MoveLeader transfers leadership to the named member. Only the leader can do so.
func (m *Member) MoveLeader(ctx context.Context, to string) error {
	var target types.ID
	for _, member := range m.server.Server.Cluster().Members() {
		if member.Name == to {
			target = member.ID
		}
	}
	if target == 0 {
		return fmt.Errorf("move leadership from %s: no member is called %q", m.name, to)
	}
	return m.server.Server.MoveLeader(ctx, uint64(m.server.Server.Leader()), uint64(target))
}

// Defragment rewrites the database file. The member serves nothing meanwhile.
func (m *Member) Defragment() error { return m.server.Server.Backend().Defrag() }

// Full reports whether any member has raised an alarm for lack of space, which stops all writes.
func (m *Member) Full() bool { return len(m.server.Server.Alarms()) > 0 }

// Disarm clears all alarms.
func (m *Member) Disarm(ctx context.Context) error {
	var failed error
	for _, raised := range m.server.Server.Alarms() {
		_, err := m.server.Server.Alarm(ctx, &etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_DEACTIVATE, MemberID: raised.MemberID, Alarm: raised.Alarm,
		})
		failed = errors.Join(failed, err)
	}
	return failed
}

// OldestRevision returns the oldest revision that the member can still read.
func (m *Member) OldestRevision() int64 { return max(1, m.server.Server.KV().FirstRev()) }

// LastDeletion returns the newest revision, among the last lookBack, that deletes a key
// with the prefix; 0 if there is none.
func (m *Member) LastDeletion(ctx context.Context, prefix string, lookBack int) (int64, error) {
	kv, end := m.server.Server.KV(), clientv3.GetPrefixRangeEnd(prefix)
	count := func(revision int64) (int, error) {
		return m.release.Count(ctx, m.server.Server, []byte(prefix), []byte(end), revision)
	}
	return lastDeletion(kv.Rev(), m.OldestRevision(), lookBack, count)
}

// lastDeletion returns the newest revision, among the last lookBack of those from oldest on, at
// which the number of keys decreases.
func lastDeletion(revision, oldest int64, lookBack int, count func(revision int64) (int, error)) (int64, error) {
	after, err := count(revision)
	for oldest = max(oldest, revision-int64(lookBack)); err == nil && revision > oldest; revision-- {
		var before int
		if before, err = count(revision - 1); err == nil && before > after {
			return revision, nil
		}
		after = before
	}
	return 0, err
}

// Restored is the state in which a restored member starts.
type Restored struct {
	// Applied is the last log entry of the old member that the state contains.
	Applied uint64
	// Revision is the first revision if it was raised, otherwise 0.
	Revision int64
}

// Restore creates a member's data folder, config.Dir, from the database of a stopped
// member in the folder from, as "etcdutl snapshot restore" does: the new member is
// alone in a new cluster, and its log starts empty. The revision is raised by bump, and
// everything before is marked as compacted; with 0 neither happens.
//
// It uses files and starts goroutines, so in a simulation it must be called from a
// process.
func Restore(config Config, from string, bump int64) (restored Restored, err error) {
	settings, err := config.embedded(newWatchRegister(config.Injection))
	if err == nil {
		restored.Applied, restored.Revision, err = config.Release.Restore(settings, from, bump)
	}
	if err != nil {
		return Restored{}, fmt.Errorf("restore etcd member %q: %w", config.Name, err)
	}
	return restored, nil
}

// StartCompactor makes the member compact its history once a period, as with
// --auto-compaction-mode=periodic: whatever is older than the period is discarded.
// Unlike etcd's, it compacts on followers too. asked is called with each revision
// before it is compacted. The compactor ends with stop, or with its process.
func (m *Member) StartCompactor(period time.Duration, asked func(revision int64)) (stop func(), err error) {
	return startCompactor(period, m.server.Server.KV(), compactable{m.server.Server, asked})
}

func startCompactor(period time.Duration, revisions v3compactor.RevGetter, compacted compactable) (stop func(), err error) {
	compactor, err := v3compactor.New(zap.NewNop(), v3compactor.ModePeriodic, period, revisions, compacted)
	if err != nil {
		return nil, err
	}
	compactor.Run()
	return compactor.Stop, nil
}

// compactable announces compactions before they happen. It implements v3compactor.Compactable.
type compactable struct {
	server v3compactor.Compactable
	asked  func(revision int64)
}

func (c compactable) Compact(ctx context.Context, request *etcdserverpb.CompactionRequest) (*etcdserverpb.CompactionResponse, error) {
	c.asked(request.Revision)
	return c.server.Compact(ctx, request)
}
