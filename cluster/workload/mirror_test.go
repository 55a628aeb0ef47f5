package workload

import (
	"context"
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// mirror stands in for a client-go informer: it lists, and then watches from the list.
type mirror struct {
	api     target.API
	scope   model.Scope
	mu      sync.Mutex
	objects map[model.Key]model.Object
	rv      int64
	handle  target.Handle
	told    map[model.Key]model.Object // by handle
}

func newMirror(api target.API, scope model.Scope, handle target.Handle) target.Informer {
	return &mirror{api: api, scope: scope, objects: map[model.Key]model.Object{}, handle: handle, told: map[model.Key]model.Object{}}
}

// tell notifies the handler of what has changed.
func (m *mirror) tell() {
	for key, object := range m.told {
		if _, there := m.objects[key]; !there {
			object.RV = m.rv
			m.handle(model.Deleted, object)
			delete(m.told, key)
		}
	}
	for key, object := range m.objects {
		if before, known := m.told[key]; before.RV != object.RV {
			what := model.Added
			if known {
				what = model.Modified
			}
			m.handle(what, object)
			m.told[key] = object
		}
	}
}

func (m *mirror) Run(ctx context.Context) {
	for ctx.Err() == nil {
		var token string
		for first := true; first || token != ""; first = false {
			op := &model.Operation{Kind: model.List, Scope: m.scope, RV: model.RVUnset, Limit: 3}
			if token = m.api.Do(ctx, op, token); op.Err != model.OK {
				break
			}
			m.mu.Lock()
			if first {
				clear(m.objects)
			}
			for _, object := range op.Objects {
				m.objects[object.Key()] = object
			}
			m.rv = op.ResultRV
			m.mu.Unlock()
		}
		m.tell()
		for m.watch(ctx) {
		}
		sleep(ctx, time.Second)
	}
}

func (m *mirror) watch(ctx context.Context) bool {
	request := &model.Stream{Scope: m.scope, RV: m.LastSyncRV(), Bookmarks: true}
	stream := m.api.Watch(ctx, request)
	if stream == nil {
		return false
	}
	defer stream.Stop()
	for {
		event, _, ok := stream.Next()
		if !ok {
			return ctx.Err() == nil
		}
		if event.Type == model.Error {
			return false
		}
		m.mu.Lock()
		m.rv = event.RV
		switch {
		case event.Type == model.Deleted:
			delete(m.objects, event.Object.Key())
		case event.Object != nil:
			m.objects[event.Object.Key()] = *event.Object
		}
		m.mu.Unlock()
		m.tell()
	}
}

func (m *mirror) Objects() []model.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	var objects []model.Object
	for _, object := range m.objects {
		objects = append(objects, object)
	}
	return objects
}

func (m *mirror) LastSyncRV() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rv
}
