package registry

import (
	"context"
	"errors"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
)

// Upstream is the storage below a cache. It reports the points that the cache's own
// requests reach, and fails them on demand; requests that the cache forwards for
// clients pass unchanged.
type Upstream struct {
	storage.Interface
	// BeginsWithList reports whether a watch begins with a list; nil if none can.
	BeginsWithList func(storage.ListOptions) bool

	reached   func(ctx context.Context, point string)
	injection *target.Injection

	mu sync.Mutex
	// next ends the watches that are open now.
	next *breakage
}

// breakage ends watches in one way. how is set before done is closed.
type breakage struct {
	done chan struct{}
	how  faults.WatchEnd
}

// NewUpstream wraps a storage; reached may be nil.
func NewUpstream(inner storage.Interface, injection *target.Injection, reached func(context.Context, string)) *Upstream {
	if reached == nil {
		reached = func(context.Context, string) {}
	}
	return &Upstream{Interface: inner, reached: reached, injection: injection, next: newBreakage()}
}

func newBreakage() *breakage { return &breakage{done: make(chan struct{})} }

// clientRequest is the context key of clients' requests.
type clientRequest struct{}

// OfClient marks the context of a client's request.
func OfClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, clientRequest{}, true)
}

func isOfClient(ctx context.Context) bool { return ctx.Value(clientRequest{}) != nil }

// Reached reports that the cache has reached a point, and blocks there if told to.
func (u *Upstream) Reached(ctx context.Context, point string) { u.reached(ctx, point) }

func (u *Upstream) GetList(ctx context.Context, key string, options storage.ListOptions, list runtime.Object) error {
	if isOfClient(ctx) {
		return u.Interface.GetList(ctx, key, options, list)
	}
	if err := u.beginList(ctx); err != nil {
		return err
	}
	err := u.Interface.GetList(ctx, key, options, list)
	u.reached(ctx, faults.PointListed)
	return err
}

// beginList is called where a list of the cache begins, or a watch that starts with
// one.
func (u *Upstream) beginList(ctx context.Context) error {
	u.reached(ctx, faults.PointList)
	if u.injection.Lists.Load() {
		return rpctypes.ErrTimeout
	}
	return nil
}

func (u *Upstream) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	if u.BeginsWithList != nil && u.BeginsWithList(options) {
		if err := u.beginList(ctx); err != nil {
			return nil, err
		}
	} else {
		u.reached(ctx, faults.PointWatch)
	}
	u.mu.Lock()
	breakage := u.next
	u.mu.Unlock()
	inner, err := u.Interface.Watch(ctx, key, options)
	if err != nil {
		return nil, err
	}
	w := &upstreamWatch{
		inner: inner, events: make(chan watch.Event),
		reached: u.reached, breakage: breakage,
	}
	w.ctx, w.stop = context.WithCancel(ctx)
	go w.run()
	return w, nil
}

// BreakWatches ends, once, the watches that are open or being opened.
func (u *Upstream) BreakWatches(how faults.WatchEnd) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.next.how = how
	close(u.next.done)
	u.next = newBreakage()
}

// statusOfEnd returns the status with which the store ends a watch in that way, nil if
// there is none.
func statusOfEnd(how faults.WatchEnd) *metav1.Status {
	var err *apierrors.StatusError
	switch how {
	case faults.WatchClosed:
		return nil
	case faults.WatchFailed:
		err = apierrors.NewInternalError(errors.New("the watch was failed on purpose"))
	default:
		// The RV has expired. After any other error the cache's reflector would resume,
		// and the cache would not be reinitialised.
		err = apierrors.NewResourceExpired("the watch was broken on purpose")
	}
	return new(err.Status())
}

// upstreamWatch forwards the events of inner until inner ends, it is stopped, or it
// breaks. Its goroutine owns events; Stop cancels ctx.
type upstreamWatch struct {
	inner    watch.Interface
	events   chan watch.Event
	reached  func(ctx context.Context, point string)
	breakage *breakage
	ctx      context.Context
	stop     context.CancelFunc
}

func (w *upstreamWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *upstreamWatch) Stop() {
	w.stop()
	w.inner.Stop()
}

func (w *upstreamWatch) run() {
	defer close(w.events)
	defer w.Stop()
	breaks := w.breakage.done
	for {
		select {
		case event, ok := <-w.inner.ResultChan():
			if !ok {
				w.lost()
				return
			}
			if !w.send(event) {
				return
			}
			if event.Type == watch.Error {
				breaks = nil // it ends anyway
			}
		case <-breaks:
			if status := statusOfEnd(w.breakage.how); status != nil {
				w.send(watch.Event{Type: watch.Error, Object: status})
			} else {
				w.lost()
			}
			return
		case <-w.ctx.Done():
			return
		}
	}
}

// endsList reports whether a bookmark follows the last object of a list.
func endsList(bookmark runtime.Object) bool {
	accessor, err := meta.Accessor(bookmark)
	return err == nil && accessor.GetAnnotations()[InitialEventsEnd] == "true"
}

// lost reports that the watch is about to end, unless the cache stopped it.
func (w *upstreamWatch) lost() {
	if w.ctx.Err() == nil {
		w.reached(w.ctx, faults.PointWatchLost)
	}
}

// send delivers an event and returns whether the watch continues.
func (w *upstreamWatch) send(event watch.Event) bool {
	switch event.Type {
	case watch.Error:
		w.lost()
	case watch.Deleted:
		w.reached(w.ctx, faults.PointDeletion)
	case watch.Bookmark:
		if endsList(event.Object) {
			w.reached(w.ctx, faults.PointListed)
		}
	}
	select {
	case w.events <- event:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// The errors of injected failures.
var (
	errTransform = errors.New("this value cannot be decrypted, on purpose")
	errDecode    = errors.New("this value cannot be decoded, on purpose")
)

// FaultyTransformer is a transformer that fails to read stored values while Injection
// says so, as when the key provider of encryption at rest is unreachable.
type FaultyTransformer struct {
	value.Transformer
	Injection *target.Injection
}

func (t FaultyTransformer) TransformFromStorage(ctx context.Context, data []byte, of value.Context) ([]byte, bool, error) {
	if t.Injection.Transforming.Load() {
		return nil, false, errTransform
	}
	return t.Transformer.TransformFromStorage(ctx, data, of)
}

// FaultyCodec is a codec that fails to decode while Injection says so, as for objects
// of a version that the server does not know.
type FaultyCodec struct {
	runtime.Codec
	Injection *target.Injection
}

func (c FaultyCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if c.Injection.Decoding.Load() {
		return nil, nil, errDecode
	}
	return c.Codec.Decode(data, defaults, into)
}
