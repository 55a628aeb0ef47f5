package etcd

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// WatchInjection injects faults into the watch streams of some hosts: messages of a
// member on these streams are delayed, limited or lost, while other requests on the same
// connection are unaffected. All members of a cluster may share one, and it outlives
// them. The zero value injects nothing; its methods are safe for concurrent use.
type WatchInjection struct {
	mu    sync.Mutex
	held  map[string]chan struct{} // by host; Release closes the channel
	muted map[string]bool
	rates map[string]*rate // of the hosts whose streams are limited
}

// rate limits the bandwidth to a host.
type rate struct {
	bytesPerSecond int64
	freeAt         time.Time     // when the bytes sent so far have passed
	lifted         chan struct{} // closed when the limit is lifted
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

// Throttle limits the bandwidth of a host's watch streams, all of them together; with 0, waiting
// messages are sent at once.
func (t *WatchInjection) Throttle(host string, bytesPerSecond int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if limited := t.rates[host]; limited != nil {
		close(limited.lifted)
		delete(t.rates, host)
	}
	if bytesPerSecond == 0 {
		return
	}
	if t.rates == nil {
		t.rates = map[string]*rate{}
	}
	t.rates[host] = &rate{bytesPerSecond: bytesPerSecond, freeAt: time.Now(), lifted: make(chan struct{})}
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

// admit waits until a response may be sent to a host, and reports whether to send it at all.
func (t *WatchInjection) admit(ctx context.Context, host string, answer *etcdserverpb.WatchResponse) bool {
	if t == nil {
		return true
	}
	for {
		t.mu.Lock()
		held, lost := t.held[host], t.muted[host] && tellsProgress(answer)
		if held == nil {
			var passed <-chan time.Time
			var lifted chan struct{}
			if limited := t.rates[host]; limited != nil && !lost {
				passed, lifted = limited.pass(sizeOf(answer)), limited.lifted
			}
			t.mu.Unlock()
			if passed != nil {
				select {
				case <-passed:
				case <-lifted:
				case <-ctx.Done():
				}
			}
			return !lost
		}
		t.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return true // sending it fails
		}
	}
}

// pass sends a number of bytes, and returns a channel that fires when they have passed.
func (r *rate) pass(size int) <-chan time.Time {
	now := time.Now()
	if r.freeAt.Before(now) {
		r.freeAt = now
	}
	r.freeAt = r.freeAt.Add(time.Duration(int64(size) * int64(time.Second) / r.bytesPerSecond))
	return time.After(r.freeAt.Sub(now))
}

// messageBytes is the approximate size of a response without its events, and of an event without
// its keys and values.
const messageBytes = 32

// sizeOf returns the approximate size of a response. Releases of etcd encode differently.
func sizeOf(answer *etcdserverpb.WatchResponse) int {
	size := messageBytes
	for _, event := range answer.Events {
		size += messageBytes
		for _, pair := range []*mvccpb.KeyValue{event.Kv, event.PrevKv} {
			if pair != nil {
				size += len(pair.Key) + len(pair.Value)
			}
		}
	}
	return size
}

// tellsProgress reports whether a response is a progress notification.
func tellsProgress(answer *etcdserverpb.WatchResponse) bool {
	return len(answer.Events) == 0 && !answer.Created && !answer.Canceled && answer.CompactRevision == 0
}
