package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3compactor"
	"go.uber.org/zap"
)

// StartCompactor makes the member compact its history once a period, as with
// --auto-compaction-mode=periodic: whatever is older than the period is discarded.
// Unlike etcd's, it compacts on followers too. asked is called with each revision
// before it is compacted. The compactor ends with stop, or with its process.
func (m *Member) StartCompactor(period time.Duration, asked func(revision int64)) (stop func(), err error) {
	compactor, err := v3compactor.New(zap.NewNop(), v3compactor.ModePeriodic, period, m.server.Server.KV(),
		compactable{m, asked})
	if err != nil {
		return nil, err
	}
	compactor.Run()
	return compactor.Stop, nil
}

// compactable announces compactions before they happen.
type compactable struct {
	member *Member
	asked  func(revision int64)
}

// Compact implements v3compactor.Compactable.
func (c compactable) Compact(ctx context.Context, request *etcdserverpb.CompactionRequest) (*etcdserverpb.CompactionResponse, error) {
	c.asked(request.Revision)
	return c.member.server.Server.Compact(ctx, request)
}
