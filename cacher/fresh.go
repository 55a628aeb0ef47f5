package cacher

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/delegator"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// freshTimeout is how long a read waits for the cache to reach its RV.
	freshTimeout = 3 * time.Second
	// tooLargeRetrySeconds is when a client may retry after that.
	tooLargeRetrySeconds = 1
	// progressPeriod is the minimum interval of progress requests to the storage while a read
	// waits.
	progressPeriod = 100 * time.Millisecond
)

// waitFresh waits until the cache has reached an RV. An RV that is not reached in time gets the
// error for a future one.
func (c *Cacher) waitFresh(ctx context.Context, rv uint64) error {
	s := c.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv <= s.rv {
		return nil
	}
	start := c.config.Clock.Now()
	defer func() { c.metrics.waited(ctx, c.config.Clock.Since(start)) }()
	timeout := c.config.Clock.NewTimer(freshTimeout)
	defer timeout.Stop()
	// Without events, only a request tells how far the storage is. The answer may get lost, so one
	// request is not enough.
	tick := c.config.Clock.NewTicker(progressPeriod)
	defer tick.Stop()

	s.waiting++
	defer func() { s.waiting-- }()
	for rv > s.rv {
		if s.readiness.phase == phaseStopped {
			return s.readiness.refusal()
		}
		advanced := s.advanced
		s.mu.Unlock()
		c.progress.request()
		expired := false
		select {
		case <-advanced:
		case <-tick.C():
		case <-timeout.C():
			expired = true
		case <-ctx.Done():
			expired = true
		}
		s.mu.Lock()
		switch {
		case rv <= s.rv || !expired:
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			return storage.NewTooLargeResourceVersionError(rv, s.rv, tooLargeRetrySeconds)
		}
	}
	return nil
}

// progressRequests requests progress from the storage while reads wait, one request at a time, with
// a minimum interval.
//
// etcd answers for all watches of a gRPC stream at once. An answer sent before a watch is opened
// can arrive after it, and then counts for that watch, too, although it may not have delivered
// anything yet. So each watch of the cache has a stream of its own, selected by the metadata of its
// context, and requests are made only on that stream, and only while the watch is open.
type progressRequests struct {
	storage storage.Interface
	clock   clock.Clock

	mu       sync.Mutex
	watch    context.Context // of the open watch; nil for none
	inFlight sync.WaitGroup
	asking   bool
	last     time.Time
}

// streamContext returns the context for one watch and its progress requests.
func streamContext(ctx context.Context, name string, number int) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "watch-cache", fmt.Sprintf("%s-%d", name, number))
}

// open allows requests for a watch until the returned function has returned.
func (p *progressRequests) open(ctx context.Context) (closed func()) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = ctx
	return func() {
		p.mu.Lock()
		p.watch = nil
		p.mu.Unlock()
		cancel()
		p.inFlight.Wait()
	}
}

// request sends a request now, unless one was just sent.
func (p *progressRequests) request() {
	if !delegator.ConsistentReadSupported() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if p.watch == nil || p.asking || now.Sub(p.last) < progressPeriod {
		return
	}
	p.asking, p.last = true, now
	ctx := p.watch
	// The request can block while the connection is down, which must not delay a read that will
	// time out.
	p.inFlight.Go(func() {
		if err := p.storage.RequestWatchProgress(ctx); err != nil {
			klog.V(4).InfoS("Requesting watch progress failed", "err", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asking = false
	})
}
