package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/faults"
)

// points are where faults wait for operations of API servers and members. Most operations pass a
// point that is not armed.
type points struct {
	mu    sync.Mutex
	armed []*gate // in order of their arming
}

// gate is an armed point. It implements faults.Gate.
type gate struct {
	points         *points
	point, process string
	left           int // remaining arrivals; guarded by points
	reached        chan struct{}
	release        sync.Once
	released       chan struct{}
}

// arm makes the number-th operation to reach a point from now on wait there.
func (p *points) arm(point, process string, number int) faults.Gate {
	s := &gate{
		points: p, point: point, process: process, left: number,
		reached: make(chan struct{}), released: make(chan struct{}),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = append(p.armed, s)
	return s
}

// pass is called by an operation of a process at a point. It waits while a fault
// that waited for this arrival begins, but no longer than ctx lasts.
func (p *points) pass(ctx context.Context, process, point string) {
	for _, s := range p.arrive(process, point) {
		timer := time.NewTimer(faults.MaxGateWait)
		select {
		case <-s.released:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// arrive counts an arrival and returns the gates that wait for this one.
func (p *points) arrive(process, point string) (gates []*gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.armed {
		if s.process != process || s.point != point || s.left == 0 {
			continue
		}
		if s.left--; s.left == 0 {
			close(s.reached)
			gates = append(gates, s)
		}
	}
	return gates
}

func (s *gate) Reached() <-chan struct{} { return s.reached }

func (s *gate) Release() {
	s.release.Do(func() {
		close(s.released)
		s.points.mu.Lock()
		defer s.points.mu.Unlock()
		s.points.armed = slices.DeleteFunc(s.points.armed, func(other *gate) bool { return other == s })
	})
}
