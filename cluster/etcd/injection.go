package etcd

import (
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// WatchInjection is what is wrong with the watch streams of some hosts: what a
// member sends on them is held back or lost, while the same connection carries
// other requests as ever. All members of a cluster may share one, and it outlives
// them. The zero value injects nothing; its methods may be called from anywhere.
type WatchInjection struct {
	mu    sync.Mutex
	held  map[string]chan struct{} // by host; closed by Release
	muted map[string]bool
}

// Hold keeps back what is sent on a host's watch streams until Release.
func (t *WatchInjection) Hold(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = map[string]chan struct{}{}
	}
	if t.held[host] == nil {
		t.held[host] = make(chan struct{})
	}
}

// Release sends what was held back. It is harmless where nothing is.
func (t *WatchInjection) Release(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held := t.held[host]; held != nil {
		close(held)
		delete(t.held, host)
	}
}

// Mute loses the progress notifications for a host, or loses them no more.
func (t *WatchInjection) Mute(host string, mute bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.muted == nil {
		t.muted = map[string]bool{}
	}
	t.muted[host] = mute
}

// admit waits until an answer may be sent to a host, and returns whether it is
// to be sent at all.
func (t *WatchInjection) admit(ctx context.Context, host string, answer *etcdserverpb.WatchResponse) bool {
	if t == nil {
		return true
	}
	for {
		t.mu.Lock()
		held, lost := t.held[host], t.muted[host] && tellsProgress(answer)
		t.mu.Unlock()
		if held == nil {
			return !lost
		}
		select {
		case <-held:
		case <-ctx.Done():
			return true // sending it fails
		}
	}
}

// tellsProgress reports whether an answer says only how far a watch has come.
func tellsProgress(answer *etcdserverpb.WatchResponse) bool {
	return len(answer.Events) == 0 && !answer.Created && !answer.Canceled && answer.CompactRevision == 0
}
