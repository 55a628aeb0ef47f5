package cacher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

var errStopped = errors.New("apiserver cacher is stopped")

type phase int

const (
	phasePending phase = iota
	phaseReady
	phaseStopped
)

// readiness says whether the cache can be read. It alternates between pending and ready until it is
// stopped, and begins a new generation whenever it becomes ready. state guards it.
type readiness struct {
	clock      clock.Clock
	phase      phase
	generation int
	since      time.Time
	reason     error // why it is pending
	changed    chan struct{}
}

func newReadiness(clock clock.Clock) readiness {
	return readiness{clock: clock, since: clock.Now(), changed: make(chan struct{})}
}

func (r *readiness) ready() {
	r.generation++
	r.reason = nil
	r.enter(phaseReady)
}

func (r *readiness) pending(reason error) {
	r.reason = reason
	r.enter(phasePending)
}

func (r *readiness) stop() { r.enter(phaseStopped) }

func (r *readiness) enter(next phase) {
	if r.phase == phaseStopped || r.phase == next {
		return
	}
	r.phase, r.since = next, r.clock.Now()
	close(r.changed)
	r.changed = make(chan struct{})
}

// err says why the cache cannot be read; nil if it can.
func (r *readiness) err() error {
	switch {
	case r.phase == phaseReady:
		return nil
	case r.phase == phaseStopped:
		return errStopped
	case r.reason == nil:
		return errors.New("storage is (re)initializing")
	default:
		return fmt.Errorf("storage is (re)initializing: %w", r.reason)
	}
}

// refusal returns err as an API error: 429 Too Many Requests, with when to retry.
func (r *readiness) refusal() error {
	err := r.err()
	if err == nil {
		return nil
	}
	return apierrors.NewTooManyRequests(err.Error(), retryAfter(r.clock.Since(r.since)))
}

// retryAfter returns the number of seconds after which a client should retry with a cache that has
// been down for this long: 1 at first, 30 from the first minute on.
func retryAfter(down time.Duration) int {
	return int(min(30, max(1, math.Exp(0.06*down.Seconds()))))
}

// checkReady returns the error for a request that the cache cannot serve now.
func (s *state) checkReady() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.readiness.refusal()
}

// waitReady waits until the cache can be read, and fails if it is stopped or ctx is done before.
func (s *state) waitReady(ctx context.Context) error {
	for {
		s.mu.RLock()
		phase, err, changed := s.readiness.phase, s.readiness.err(), s.readiness.changed
		s.mu.RUnlock()
		if phase != phasePending {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
