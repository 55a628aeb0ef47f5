package etcd

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// watchRegister tracks the watches that a member holds open by intercepting its own gRPC server, and
// implements the methods of Running about them. etcd's metric counts all members of a process
// together, including crashed ones.
//
// The lock guards streams and each stream's open.
type watchRegister struct {
	injection *WatchInjection

	mu      sync.Mutex
	streams map[*watchStream]struct{}
	opened  int // streams opened so far
}

// watchStream is one call of etcd's Watch, which can carry many watches.
type watchStream struct {
	grpc.ServerStream
	register *watchRegister
	client   string // the host
	number   int    // streams count from 1
	ctx      context.Context
	end      context.CancelCauseFunc

	asked []string         // the keys of requested watches not yet created, in order
	open  map[int64]string // the key of each watch
}

func newWatchRegister(injection *WatchInjection) *watchRegister {
	return &watchRegister{injection: injection, streams: map[*watchStream]struct{}{}}
}

// errBroken ends streams that are broken on purpose. The client reconnects elsewhere,
// as after the loss of a leader.
var errBroken = status.Error(codes.Unavailable, "etcdserver: the watch stream was broken on purpose")

// watchMethod is gRPC's name of etcd's Watch.
const watchMethod = "/etcdserverpb.Watch/Watch"

// intercept is a gRPC stream interceptor. A watch ends when etcd reports it as
// canceled, or with its stream.
func (r *watchRegister) intercept(server any, inner grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod != watchMethod {
		return handle(server, inner)
	}
	s := &watchStream{ServerStream: inner, register: r, client: hostOf(inner), open: map[int64]string{}}
	s.ctx, s.end = context.WithCancelCause(inner.Context())
	defer s.end(nil)
	r.mu.Lock()
	r.opened++
	s.number = r.opened
	r.streams[s] = struct{}{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.streams, s)
	}()
	err := handle(server, s)
	if context.Cause(s.ctx) == errBroken {
		return errBroken
	}
	return err
}

func (s *watchStream) Context() context.Context { return s.ctx }

func hostOf(stream grpc.ServerStream) string {
	caller, ok := peer.FromContext(stream.Context())
	if !ok {
		return ""
	}
	host, _, err := net.SplitHostPort(caller.Addr.String())
	if err != nil {
		return caller.Addr.String()
	}
	return host
}

// RecvMsg records requested watches, because etcd responds in the order of the requests.
func (s *watchStream) RecvMsg(message any) error {
	if err := s.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	if request, ok := message.(*etcdserverpb.WatchRequest); ok && request.GetCreateRequest() != nil {
		s.register.mu.Lock()
		defer s.register.mu.Unlock()
		s.asked = append(s.asked, string(request.GetCreateRequest().GetKey()))
	}
	return nil
}

// SendMsg notes which watches are created and cancelled. One response both creates and cancels a
// watch that etcd rejects.
func (s *watchStream) SendMsg(message any) error {
	if answer, ok := message.(*etcdserverpb.WatchResponse); ok {
		if answer.Created || answer.Canceled {
			s.note(answer)
		}
		if !s.register.injection.admit(s.ctx, s.client, answer) {
			return nil
		}
	}
	return s.ServerStream.SendMsg(message)
}

func (s *watchStream) note(answer *etcdserverpb.WatchResponse) {
	s.register.mu.Lock()
	defer s.register.mu.Unlock()
	if answer.Created && len(s.asked) > 0 {
		s.open[answer.WatchId] = s.asked[0]
		s.asked = s.asked[1:]
	}
	if answer.Canceled {
		delete(s.open, answer.WatchId)
	}
}

func (r *watchRegister) Watches(host, prefix string) int { return r.count(host, prefix) }

// count is Watches. It keeps its name because a run's schedule depends on the names of functions that lock.
func (r *watchRegister) count(host, prefix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := 0
	for s := range r.streams {
		if s.client != host {
			continue
		}
		for _, key := range s.open {
			if strings.HasPrefix(key, prefix) {
				total++
			}
		}
	}
	return total
}

func (r *watchRegister) BreakWatches(host string) int {
	streams := r.of(host)
	for _, s := range streams {
		s.end(errBroken)
	}
	return len(streams)
}

// of returns the streams of a host, in order of their opening.
func (r *watchRegister) of(host string) (streams []*watchStream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.streams {
		if s.client == host {
			streams = append(streams, s)
		}
	}
	slices.SortFunc(streams, func(a, b *watchStream) int { return cmp.Compare(a.number, b.number) })
	return streams
}
