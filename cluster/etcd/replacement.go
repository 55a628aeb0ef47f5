package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sort"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// The settings of etcd's gRPC server.
const (
	maxRequestBytes  = 2 << 20
	minClientPing    = 5 * time.Second
	stopGracePeriod  = 5 * time.Second
	replacementsTerm = 1 // nobody else is ever elected
)

// replacement is a running store in etcd's place. It implements Running.
type replacement struct {
	*watchRegister
	services Services
	server   *grpc.Server
	ready    chan struct{}
	stopped  sync.Once
}

// Run starts the store as the member of a config, of which it uses the name, the folder, the
// progress interval and the injection.
func (s *Store) Run(config Config) (Running, error) {
	if len(config.Cluster) != 1 {
		return nil, fmt.Errorf("store %q: expected it to be the only member, found %d", config.Name, len(config.Cluster))
	}
	services, err := s.Start(StoreConfig{Name: config.Name, Dir: config.Dir, ProgressNotify: config.ProgressNotify})
	if err != nil {
		return nil, fmt.Errorf("store %q: %w", config.Name, err)
	}
	listener, err := net.Listen("unix", config.Name+clientPort)
	if err != nil {
		return nil, fmt.Errorf("store %q: %w", config.Name, err)
	}
	r := &replacement{services: services, watchRegister: newWatchRegister(config.Injection), ready: make(chan struct{})}
	r.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequestBytes), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minClientPing}),
		grpc.StreamInterceptor(r.intercept),
	)
	etcdserverpb.RegisterKVServer(r.server, services.KV)
	etcdserverpb.RegisterWatchServer(r.server, services.Watch)
	etcdserverpb.RegisterLeaseServer(r.server, services.Lease)
	etcdserverpb.RegisterMaintenanceServer(r.server, services.Maintenance)
	close(r.ready)
	go func() { _ = r.server.Serve(listener) }() // returns after Stop
	return r, nil
}

func (r *replacement) Ready() <-chan struct{} { return r.ready }

// Stop cuts watches that are still open after a while.
func (r *replacement) Stop() {
	r.stopped.Do(func() {
		cut := time.AfterFunc(stopGracePeriod, r.server.Stop)
		r.server.GracefulStop()
		cut.Stop()
		if r.services.Stop != nil {
			r.services.Stop()
		}
	})
}

func (r *replacement) Leads() (term uint64, leads bool) { return replacementsTerm, true }
func (r *replacement) Leaderless() bool                 { return false }

func (r *replacement) MoveLeader(context.Context, string) error {
	return errors.New("a store in etcd's place is its only member")
}

func (r *replacement) Revision() int64 {
	found, err := r.services.KV.Range(context.Background(), &etcdserverpb.RangeRequest{Key: []byte("/"), CountOnly: true})
	if err != nil {
		return 0
	}
	return found.Header.Revision
}

func (r *replacement) OldestRevision() int64 {
	return int64(1 + sort.Search(int(r.Revision()), func(i int) bool {
		_, err := r.count(context.Background(), "/", "", int64(i+1))
		return err == nil
	}))
}

func (r *replacement) LastDeletion(ctx context.Context, prefix string, lookBack int) (int64, error) {
	end := clientv3.GetPrefixRangeEnd(prefix)
	return lastDeletion(r.Revision(), r.OldestRevision(), lookBack, func(revision int64) (int, error) {
		return r.count(ctx, prefix, end, revision)
	})
}

// count returns how many keys there were from key to end, at a revision.
func (r *replacement) count(ctx context.Context, key, end string, revision int64) (int, error) {
	found, err := r.services.KV.Range(ctx, &etcdserverpb.RangeRequest{
		Key: []byte(key), RangeEnd: []byte(end), Revision: revision, CountOnly: true,
	})
	if err != nil {
		return 0, err
	}
	return int(found.Count), nil
}

func (r *replacement) Put(ctx context.Context, key, value string) error {
	_, err := r.services.KV.Put(ctx, &etcdserverpb.PutRequest{Key: []byte(key), Value: []byte(value)})
	return err
}

func (r *replacement) Compact(ctx context.Context, revision int64) error {
	_, err := r.services.KV.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: revision})
	return err
}

func (r *replacement) StartCompactor(period time.Duration, asked func(revision int64)) (stop func(), err error) {
	return startCompactor(period, revisions{r}, compactable{r.services.KV, asked})
}

// revisions implements v3compactor.RevGetter.
type revisions struct{ *replacement }

func (r revisions) Rev() int64 { return r.Revision() }

func (r *replacement) Defragment() error {
	_, err := r.services.Maintenance.Defragment(context.Background(), &etcdserverpb.DefragmentRequest{})
	return err
}

// Full and Disarm have nothing to do: a store has no quota.
func (r *replacement) Full() bool                   { return false }
func (r *replacement) Disarm(context.Context) error { return nil }
