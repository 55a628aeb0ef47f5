package main

import (
	"context"
	"math/rand/v2"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// lease lasts until its timer fires. A restart resets its TTL.
type lease struct {
	ttl   time.Duration
	timer *time.Timer
}

// grant adds a lease.
func (s *store) grant(id, seconds int64) {
	ttl := time.Duration(seconds) * time.Second
	s.leases[id] = &lease{ttl: ttl, timer: time.AfterFunc(ttl, func() {
		_ = s.revoke(id) // it may just have been revoked
	})}
}

// revoke removes a lease and deletes its keys, all with one revision.
func (s *store) revoke(id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[id] == nil {
		return rpctypes.ErrGRPCLeaseNotFound
	}
	r := record{Revoke: id}
	for _, pair := range s.between("", "\x00", s.revision) {
		if pair.Lease == id {
			r.Changes = append(r.Changes, change{Key: string(pair.Key), Deleted: true})
			r.Revision = s.revision + 1
		}
	}
	return s.commit(r)
}

// LeaseGrant implements etcdserverpb.LeaseServer.
func (s *store) LeaseGrant(_ context.Context, request *etcdserverpb.LeaseGrantRequest) (*etcdserverpb.LeaseGrantResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := request.ID
	for id == 0 {
		id = rand.Int64()
	}
	if s.leases[id] != nil {
		return nil, rpctypes.ErrGRPCLeaseExist
	}
	if err := s.commit(record{Grant: id, TTL: request.TTL}); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &etcdserverpb.LeaseGrantResponse{Header: header(s.revision), ID: id, TTL: request.TTL}, nil
}

// LeaseRevoke implements etcdserverpb.LeaseServer.
func (s *store) LeaseRevoke(_ context.Context, request *etcdserverpb.LeaseRevokeRequest) (*etcdserverpb.LeaseRevokeResponse, error) {
	if err := s.revoke(request.ID); err != nil {
		return nil, err
	}
	return &etcdserverpb.LeaseRevokeResponse{Header: header(s.newest())}, nil
}

// LeaseKeepAlive implements etcdserverpb.LeaseServer. A TTL of 0 means that the lease no longer
// exists.
func (s *store) LeaseKeepAlive(stream grpc.BidiStreamingServer[etcdserverpb.LeaseKeepAliveRequest, etcdserverpb.LeaseKeepAliveResponse]) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return nil // the client has left
		}
		answer := &etcdserverpb.LeaseKeepAliveResponse{Header: header(s.newest()), ID: request.ID}
		s.mu.Lock()
		if kept := s.leases[request.ID]; kept != nil {
			kept.timer.Reset(kept.ttl)
			answer.TTL = int64(kept.ttl / time.Second)
		}
		s.mu.Unlock()
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// Status implements etcdserverpb.MaintenanceServer.
func (s *store) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &etcdserverpb.StatusResponse{Header: header(s.revision), Version: "3.7.0", DbSize: s.size, DbSizeInUse: s.size, Leader: 1, RaftTerm: 1}, nil
}
