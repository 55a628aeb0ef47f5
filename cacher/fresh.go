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
	// tooLargeRetrySeconds is when a client may ask again after that.
	tooLargeRetrySeconds = 1
	// progressPeriod is how often the storage is asked for its progress, at most,
	// while a read waits.
	progressPeriod = 100 * time.Millisecond
)

// waitFresh waits until everything up to an RV is known. An RV that is not reached
// in time gets the error for one that lies in the future.
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
	// Without events there is no telling how far the storage has got, except by
	// asking. The answer may get lost, so that one question is not enough.
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

// progressRequests asks the storage for its progress while reads wait, one request
// at a time and none too soon after another.
//
// etcd answers for all watches of a gRPC stream at once. An answer that is given
// before a watch is opened can arrive after it, and then speaks for that watch too,
// which may not have delivered anything yet. So each watch of the cache has a
// stream of its own, which is what the metadata of its context amounts to, and
// requests are made on that stream alone, and only while the watch is open.
type progressRequests struct {
	storage storage.Interface
	clock   clock.Clock

	mu       sync.Mutex
	watch    context.Context // of the open watch; nil for none
	inFlight sync.WaitGroup
	asking   bool
	last     time.Time
}

// streamContext is the context for one watch and the requests for its progress.
func streamContext(ctx context.Context, name string, number int) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "watch-cache", fmt.Sprintf("%s-%d", name, number))
}

// open lets requests be made for a watch until the function that it returns has
// returned.
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

// request asks now, unless it was asked just before.
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
	// The request can block while the connection is down, which is not to hold up
	// a read that will time out.
	p.inFlight.Go(func() {
		if err := p.storage.RequestWatchProgress(ctx); err != nil {
			klog.V(4).InfoS("Requesting watch progress failed", "err", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asking = false
	})
}
