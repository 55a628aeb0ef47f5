package cacher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/delegator"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/component-base/tracing"
)

// traceThreshold is how long a request takes for its trace to be logged.
const traceThreshold = 500 * time.Millisecond

// Watch implements storage.Interface.
//
// As in the storage below, an error of a valid request is reported by an ERROR event, above all an
// RV that has expired; only a cache that is not ready or has too many watches returns an error.
func (c *Cacher) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	traced, span := tracing.Start(ctx, "cacher.Watch",
		attribute.String("audit-id", audit.GetAuditIDTruncated(ctx)),
		attribute.Stringer("type", c.config.GroupResource))
	defer span.End(traceThreshold)
	key, err := storage.PrepareKey(c.config.ResourcePrefix, key, options.Recursive)
	if err != nil {
		return nil, err
	}
	rv, err := c.config.Versioner.ParseResourceVersion(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if err := c.state.checkReady(); err != nil {
		return nil, err
	}
	if !utilfeature.DefaultFeatureGate.Enabled(features.WatchList) {
		options.SendInitialEvents = nil
	}
	start := watchStart{rv: rv, initial: initialEvents(options), bookmark: options.Predicate.AllowWatchBookmarks}
	if err := c.reachStart(traced, &start, options); err != nil {
		return failedWatch(err), nil
	}

	w := &watcher{
		cacher: c,
		filter: newFilter(key, options.Predicate, c.config.GroupResource),
		result: make(chan watch.Event, resultSize),
		done:   make(chan struct{}),
	}
	if options.Predicate.AllowWatchBookmarks {
		w.bookmarks.deadline, _ = ctx.Deadline()
		w.bookmarks.next = w.nextBookmark(c.config.Clock.Now())
	}
	initial, err := c.register(w, start, c.watchers.keyOf(key, options.Predicate))
	switch {
	case apierrors.IsTooManyRequests(err):
		return nil, err
	case err != nil:
		return failedWatch(err), nil
	}
	c.metrics.opened(w)
	w.endWith(ctx)
	if !w.bookmarks.next.IsZero() {
		c.dispatcher.notify()
	}
	if initial == nil && !w.startsRunning {
		utilflowcontrol.WatchInitialized(ctx)
	} else {
		go w.begin(ctx, initial)
	}
	return w, nil
}

// initialKind says how the state at the start of a watch is delivered.
type initialKind int

const (
	noInitialEvents  initialKind = iota // not at all
	oldInitialEvents                    // as for RV 0, with nothing to mark their end
	newInitialEvents                    // as for sendInitialEvents
)

func initialEvents(options storage.ListOptions) initialKind {
	switch {
	case options.SendInitialEvents == nil && (options.ResourceVersion == "" || options.ResourceVersion == "0"):
		return oldInitialEvents
	case options.SendInitialEvents != nil && *options.SendInitialEvents:
		return newInitialEvents
	default:
		return noInitialEvents
	}
}

// watchStart is where a watch begins.
type watchStart struct {
	rv       uint64 // 0 for the cache's current state
	initial  initialKind
	bookmark bool // at the end of newInitialEvents
}

// reachStart waits until the cache has reached the RV from which a watch starts with initial
// events. Without these a watch may start in the future.
func (c *Cacher) reachStart(ctx context.Context, start *watchStart, options storage.ListOptions) error {
	if start.initial == newInitialEvents && start.bookmark && !delegator.ConsistentReadSupported() {
		return fmt.Errorf("a watch stream was requested by the client but the required storage feature %s is disabled", storage.RequestWatchProgress)
	}
	if options.ResourceVersion == "" && options.SendInitialEvents != nil {
		current, err := c.config.Storage.GetCurrentResourceVersion(ctx)
		if err != nil {
			return err
		}
		start.rv = current
	}
	if start.initial == newInitialEvents {
		return c.waitFresh(ctx, start.rv)
	}
	return nil
}

// register registers a watch at the cache's current position, and returns its initial state, nil
// for none.
func (c *Cacher) register(w *watcher, start watchStart, key groupKey) (*initialState, error) {
	s := c.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readiness.refusal(); err != nil {
		return nil, err
	}
	var initial *initialState
	w.start, w.cursor = s.rv, s.log.end
	switch {
	case start.initial != noInitialEvents:
		initial = &initialState{tree: s.latestLocked(), rv: s.rv, bookmark: start.bookmark && start.initial == newInitialEvents}
	case start.rv != 0:
		position, held := s.log.after(start.rv)
		if !held {
			c.metrics.stale()
			return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", start.rv, s.log.floor))
		}
		w.start, w.cursor = start.rv, position
	}
	w.seen = w.start
	w.startsRunning = initial != nil || w.cursor < s.log.end
	w.running = w.startsRunning
	return initial, c.watchers.add(w, key)
}

// endWith ends the watch when its request ends.
func (w *watcher) endWith(ctx context.Context) {
	detach := context.AfterFunc(ctx, w.end)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		detach()
	}
	w.detach = detach
}

// failedWatch returns a watch that delivers an error and has ended.
func failedWatch(err error) watch.Interface {
	status := metav1.Status{
		Status:  metav1.StatusFailure,
		Message: err.Error(),
		Reason:  metav1.StatusReasonInternalError,
		Code:    http.StatusInternalServerError,
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		status = api.Status()
	}
	w := ended{result: make(chan watch.Event, 1)}
	w.result <- watch.Event{Type: watch.Error, Object: &status}
	close(w.result)
	return w
}

// ended implements watch.Interface for a watch that delivers only what it already has.
type ended struct{ result chan watch.Event }

func (e ended) ResultChan() <-chan watch.Event { return e.result }
func (e ended) Stop()                          {}
