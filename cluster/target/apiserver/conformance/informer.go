package conformance

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// asked records what an informer requests from an API.
type asked struct {
	target.API
	// refuse makes streaming lists fail, so that client-go falls back to a list.
	refuse bool

	mu       sync.Mutex
	lists    []model.Operation
	streamed int
}

func (a *asked) Do(ctx context.Context, op *model.Operation, token string) string {
	next := a.API.Do(ctx, op, token)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists = append(a.lists, *op)
	return next
}

func (a *asked) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stream.InitialEvents {
		if a.refuse {
			stream.Err, stream.Message = model.Invalid, "no streamed lists"
			return nil
		}
		a.streamed++
	}
	return a.API.Watch(ctx, stream)
}

// notifications are what an informer's handler was last told.
type notifications struct {
	mu      sync.Mutex
	objects map[string]model.Object // by key
}

func (n *notifications) handle(what model.EventType, object model.Object) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := object.Namespace + "/" + object.Name
	if n.objects[key] = object; what == model.Deleted {
		delete(n.objects, key)
	}
}

func (n *notifications) all() []model.Object {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.objects))
}

// running runs an informer until stop is called, which waits for its end.
func running(t *testing.T, informer target.Informer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { informer.Run(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// ignore handles notifications that no test looks at.
func ignore(model.EventType, model.Object) {}

func testInformerFollowsTheServer(t *testing.T, f *fixture) {
	for _, refuse := range []bool{false, true} {
		f := newFixture(t, f.target)
		a := f.create(object("n", "a", "1"))
		api := &asked{API: f.server, refuse: refuse}
		told := &notifications{objects: map[string]model.Object{}}
		informer := f.target.NewInformer(api, model.Scope{Namespace: "n"}, told.handle)
		stop := running(t, informer)
		holds := func(want ...model.Object) {
			t.Helper()
			require.EventuallyWithT(t, func(t *assert.CollectT) {
				assert.ElementsMatch(t, want, informer.Objects())
				assert.ElementsMatch(t, want, told.all())
			}, patience, time.Millisecond)
		}
		holds(a)
		b := f.create(object("n", "b", "1"))
		f.create(object("m", "c", "1"))
		holds(a, b)
		require.Equal(t, b.RV, informer.LastSyncRV())

		// The informer resumes where its stream ended.
		f.server.BreakWatch(faults.WatchExpired)
		f.waitInitialised(f.server)
		f.delete("n", "b")
		a = f.update(object("n", "a", "2"))
		holds(a)
		stop()
		if refuse {
			require.NotEmpty(t, api.lists)
		} else {
			require.Empty(t, api.lists)
			require.Positive(t, api.streamed)
		}
	}
}

func testInformerRelistsAfterExpiry(t *testing.T, f *fixture) {
	want := f.create(object("n", "a", "1"))
	api := &expiring{asked: asked{API: f.server}}
	informer := f.target.NewInformer(api, model.Scope{}, ignore)
	stop := running(t, informer)
	require.Eventually(t, func() bool {
		api.mu.Lock()
		defer api.mu.Unlock()
		return api.streamed >= 2
	}, patience, time.Millisecond, "the informer never started over")
	require.Eventually(t, func() bool { return len(informer.Objects()) == 1 }, patience, time.Millisecond)
	require.Equal(t, []model.Object{want}, informer.Objects())
	stop()
}

// expiring ends the first stream with an ERROR event after its initial state.
type expiring struct {
	asked
	once sync.Once
}

func (e *expiring) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	w := e.asked.Watch(ctx, stream)
	e.once.Do(func() { w = &expiringWatch{Watch: w} })
	return w
}

type expiringWatch struct {
	target.Watch
	expired bool
}

func (w *expiringWatch) Next() (model.Event, model.CloseReason, bool) {
	if w.expired {
		return model.Event{Type: model.Error, Err: model.Expired, Message: "too old"}, "", true
	}
	event, reason, ok := w.Watch.Next()
	w.expired = event.InitialEnd
	return event, reason, ok
}
