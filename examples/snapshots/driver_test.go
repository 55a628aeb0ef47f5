package snapshots

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// storage is a system that holds volumes and their snapshots, and its driver: a caller that gives up does
// not stop its request.
type storage struct {
	mu        sync.Mutex
	snapshots map[string]string // handles by name
	cut       int
}

// CreateSnapshot is idempotent by name, as in the CSI specification.
func (s *storage) CreateSnapshot(ctx context.Context, name, volume string, _, _ map[string]string) (string, string, time.Time, int64, bool, error) {
	if err := s.takes(ctx); err != nil {
		return "", "", time.Time{}, 0, false, err
	}
	handle := s.create(name)
	if err := s.takes(ctx); err != nil {
		return "", "", time.Time{}, 0, false, err
	}
	return driver, handle, time.Now(), 1 << 30, true, nil
}

// DeleteSnapshot is idempotent.
func (s *storage) DeleteSnapshot(ctx context.Context, handle string, _ map[string]string) error {
	if err := s.takes(ctx); err != nil {
		return err
	}
	s.delete(handle)
	return s.takes(ctx)
}

// GetSnapshotStatus reports on a snapshot.
func (s *storage) GetSnapshotStatus(ctx context.Context, handle string, _ map[string]string) (bool, time.Time, int64, string, error) {
	if err := s.takes(ctx); err != nil {
		return false, time.Time{}, 0, "", err
	}
	if !slices.Contains(s.handles(), handle) {
		return false, time.Time{}, 0, "", status.Errorf(codes.NotFound, "there is no snapshot %s", handle)
	}
	return true, time.Now(), 1 << 30, "", nil
}

// takes makes the caller wait, and fails now and then without a fault.
func (s *storage) takes(ctx context.Context) error {
	select {
	case <-time.After(rand.N(2 * time.Second)):
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	switch rand.IntN(20) {
	case 0:
		return status.Error(codes.Unavailable, "the driver restarts")
	case 1:
		return status.Error(codes.DeadlineExceeded, "the storage is slow")
	}
	return nil
}

func (s *storage) create(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.snapshots[name]; !exists {
		s.cut++
		s.snapshots[name] = fmt.Sprintf("%d of %s", s.cut, name)
	}
	return s.snapshots[name]
}

func (s *storage) delete(handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.snapshots, func(_, h string) bool { return h == handle })
}

func (s *storage) handles() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Values(s.snapshots))
}
