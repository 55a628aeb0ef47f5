package cacher

import (
	"context"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/delegator"
	"k8s.io/klog/v2"
)

const (
	// freshTimeout is how long a read waits for the cache to reach its RV.
	freshTimeout = 3 * time.Second
	// tooLargeRetrySeconds is when a client may ask again after that.
	tooLargeRetrySeconds = 1
	// progressPeriod is how often the storage is asked for its progress, at most,
	// while somebody waits.
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

// progressRequests asks the storage for its progress, for whoever waits, one
// request at a time and none too soon after another.
type progressRequests struct {
	cacher *Cacher

	mu       sync.Mutex
	inFlight bool
	last     time.Time
}

func (p *progressRequests) request() {
	if !delegator.ConsistentReadSupported() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.cacher.config.Clock.Now()
	if p.inFlight || now.Sub(p.last) < progressPeriod {
		return
	}
	p.inFlight, p.last = true, now
	// The request can block while the connection is down, which is not to hold up
	// a read that will time out.
	p.cacher.group.Go(func() {
		if err := p.cacher.config.Storage.RequestWatchProgress(p.cacher.ctx); err != nil {
			klog.V(4).InfoS("Requesting watch progress failed", "resource", p.cacher.config.GroupResource, "err", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.inFlight = false
	})
}
