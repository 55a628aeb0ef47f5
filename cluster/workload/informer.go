package workload

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// informer is one of the target's real client-go informers. It reaches its server
// through an observer, which records what it requests and sees.
type informer struct {
	name     string
	scope    model.Scope
	observer *observer
	inner    target.Informer
	delay    time.Duration // of its handler, per notification

	mu       sync.Mutex
	notified []model.Object // what the handler was last told, in order of namespace and name
	last     time.Time      // when that was
	calls    []model.Notification
	now      func() int64 // the time of a notification
}

// handle implements target.Handle.
func (i *informer) handle(what model.EventType, object model.Object) {
	if i.delay > 0 {
		time.Sleep(i.delay)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = time.Now()
	i.calls = append(i.calls, model.Notification{Time: i.now(), Type: what, Object: object})
	at, known := slices.BinarySearchFunc(i.notified, object, byName)
	switch {
	case what == model.Deleted && known:
		i.notified = slices.Delete(i.notified, at, at+1)
	case what == model.Deleted:
	case known:
		i.notified[at] = object
	default:
		i.notified = slices.Insert(i.notified, at, object)
	}
}

// told returns what the handler was last told, all notifications, and whether the former equals the
// informer's contents.
func (i *informer) told() (notified []model.Object, calls []model.Notification, same bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.notified), slices.Clone(i.calls), slices.EqualFunc(i.notified, contents(i.inner), func(a, b model.Object) bool {
		return byName(a, b) == 0 && a.RV == b.RV
	})
}

// busy reports whether a slow handler may have more to handle: it delays the informer's contents.
func (i *informer) busy() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.delay > 0 && time.Since(i.last) < convergeSettle
}

// results returns the informer's final contents and, if its handler was told other ones, those as
// well: a handler must see the last state, too.
func (i *informer) results() []model.Informer {
	held := model.Informer{
		Client: i.name, Server: i.observer.session().server, Scope: i.scope,
		Objects: contents(i.inner), LastSyncRV: i.inner.LastSyncRV(),
	}
	notified, calls, same := i.told()
	if held.Notifications = calls; same {
		return []model.Informer{held}
	}
	told := held
	told.Objects, told.Notifications = notified, nil
	return []model.Informer{held, told}
}

// contents returns an informer's contents, in order of namespace and name.
func contents(of target.Informer) []model.Object {
	objects := slices.Clone(of.Objects())
	slices.SortFunc(objects, byName)
	return objects
}

func byName(a, b model.Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// observer records the requests of an informer. The informer does not say what a
// request continues, so the observer works it out: it remembers which list returned
// which continue token, and the last list and stream. The lock guards that memory,
// because client-go may list in a separate goroutine. It implements target.API.
type observer struct {
	sessions []*session
	consumer *consumer
	pace     pace
	delayed  bool // its handler takes time, during which client-go may lock its queue and not read

	mu         sync.Mutex
	at         int            // the current session
	failed     bool           // the last request failed, or its stream has ended
	pages      map[string]int // the ID of the list that returned a continue token
	lastList   model.Operation
	lastStream *observedWatch // since lastList, nil if there was none
}

// newObserver returns an observer that uses the first of several servers, and the next one after
// each failure and each stream that the server ended, as a load balancer may do for a new
// connection.
func newObserver(sessions []*session, consumer *consumer, pace pace) *observer {
	return &observer{sessions: sessions, consumer: consumer, pace: pace, pages: map[string]int{}}
}

// session returns the current session.
func (o *observer) session() *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sessions[o.at]
}

// waits reports whether the informer will retry after its backoff.
func (o *observer) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// note records whether a request to a server failed, or its stream has ended or reported an error.
// The next one then goes to the next server.
func (o *observer) note(asked *session, failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = failed
	if failed && o.sessions[o.at] == asked {
		o.at = (o.at + 1) % len(o.sessions)
	}
}

func (o *observer) Do(ctx context.Context, op *model.Operation, token string) (next string) {
	if token != "" {
		o.mu.Lock()
		op.Continues = o.pages[token]
		o.mu.Unlock()
	}
	session := o.session()
	next = session.do(ctx, op, token)
	o.note(session, op.Err != model.OK)
	o.mu.Lock()
	defer o.mu.Unlock()
	if next != "" {
		o.pages[next] = op.ID
	}
	if op.Kind == model.List && op.Err == model.OK && next == "" {
		o.lastList, o.lastStream = *op, nil
	}
	return next
}

func (o *observer) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	o.mu.Lock()
	switch {
	case stream.RV <= 0 || stream.InitialEvents:
	case o.lastStream != nil && o.lastStream.rv == stream.RV:
		stream.ResumesStream = o.lastStream.id
	case o.lastList.ResultRV == stream.RV:
		stream.ResumesList = o.lastList.ID
	}
	o.mu.Unlock()
	stream.Consumer = o.consumer.begin(o.pace)
	if o.delayed && stream.Consumer == Fast {
		stream.Consumer = Hiccuping
	}
	session := o.session()
	opened := session.watch(ctx, stream, o.consumer)
	o.note(session, opened == nil)
	if opened == nil {
		// A typed nil would not be nil to the informer.
		return nil
	}
	return &observedWatch{watch: opened, observer: o, session: session, id: stream.ID}
}

// observedWatch remembers the last RV that its stream delivered.
type observedWatch struct {
	*watch
	observer *observer
	session  *session
	id       int
	rv       int64 // guarded by the observer's lock
}

func (w *observedWatch) Next() (model.Event, model.CloseReason, bool) {
	event, reason, ok := w.watch.Next()
	if ok && event.Type == model.Error || !ok && reason != model.ClosedByClient {
		w.observer.note(w.session, true)
	}
	if ok && event.Type != model.Error {
		w.observer.mu.Lock()
		w.rv = event.RV
		w.observer.lastStream = w
		w.observer.mu.Unlock()
	}
	return event, reason, ok
}
