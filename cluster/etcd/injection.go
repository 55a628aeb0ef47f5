package etcd

import (
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// WatchInjection injects faults into the watch streams of some hosts: messages of a
// member on these streams are delayed or lost, while other requests on the same
// connection are unaffected. All members of a cluster may share one, and it outlives
// them. The zero value injects nothing; its methods are safe for concurrent use.
type WatchInjection struct {
	mu    sync.Mutex
	held  map[string]chan struct{} // by host; Release closes the channel
	muted map[string]bool
}

// Hold delays messages on a host's watch streams until Release.
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

// Release sends the delayed messages, if any.
func (t *WatchInjection) Release(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held := t.held[host]; held != nil {
		close(held)
		delete(t.held, host)
	}
}

// Mute starts or stops discarding the progress notifications for a host.
func (t *WatchInjection) Mute(host string, mute bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.muted == nil {
		t.muted = map[string]bool{}
	}
	t.muted[host] = mute
}

// admit waits until a response may be sent to a host, and reports whether it is to be
// sent at all.
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

// tellsProgress reports whether a response is a progress notification.
func tellsProgress(answer *etcdserverpb.WatchResponse) bool {
	return len(answer.Events) == 0 && !answer.Created && !answer.Canceled && answer.CompactRevision == 0
}
