package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// api serves the store as an API server would. It implements target.API.
type api struct {
	store   *Store
	latency func() time.Duration
}

// API returns an API of the store that waits latency() before each request takes effect
// and again before its response; nil means no latency. latency must be safe for
// concurrent use by all goroutines that share the API.
func (s *Store) API(latency func() time.Duration) target.API {
	if latency == nil {
		latency = func() time.Duration { return 0 }
	}
	return &api{store: s, latency: latency}
}

func (a *api) Do(ctx context.Context, op *model.Operation, token string) (next string) {
	if !wait(ctx, a.latency()) {
		op.Err, op.Message = model.Unknown, ctx.Err().Error()
		return ""
	}
	response := *op
	switch op.Kind {
	case model.Get, model.List:
		next = a.store.read(ctx, &response, token)
	default:
		a.store.write(&response)
	}
	if !wait(ctx, a.latency()) {
		op.Err, op.Message = model.Unknown, ctx.Err().Error()
		return ""
	}
	*op = response
	return next
}

// write performs a create, update or delete.
func (s *Store) write(op *model.Operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.viewLocked().Object(model.Key(op.Scope), s.truth.Revision)
	switch {
	case op.Kind == model.Create && stored != nil:
		op.Err = model.AlreadyExists
		return
	case op.Kind != model.Create && stored == nil:
		op.Err = model.NotFound
		return
	case op.Precondition != 0 && op.Precondition != stored.RV:
		op.Err = model.Conflict
		op.Message = fmt.Sprintf("the object is at %d, not at %d", stored.RV, op.Precondition)
		return
	}
	if op.Kind == model.Delete {
		op.ResultRV = s.commitLocked(*stored, true)
		return
	}
	object := *op.Object
	if op.Kind == model.Create {
		object.UID = fmt.Sprintf("uid-%d", s.truth.Revision+1)
	} else {
		object.UID = stored.UID
	}
	op.ResultRV = s.commitLocked(object, false)
	object.RV = op.ResultRV
	op.Objects = []model.Object{object}
}

// read performs a get or list.
func (s *Store) read(ctx context.Context, op *model.Operation, token string) (next string) {
	if op.RV > 0 && !s.waitFor(ctx, op.RV) {
		op.Err, op.Message = model.TooLarge, fmt.Sprintf("Too large resource version: %d", op.RV)
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if op.Kind == model.Get {
		object := s.viewLocked().Object(model.Key(op.Scope), s.truth.Revision)
		if object == nil {
			op.Err = model.NotFound
			return ""
		}
		op.ResultRV, op.Objects = object.RV, []model.Object{*object}
		return ""
	}
	rv, after := s.truth.Revision, model.Key{}
	switch {
	case token != "":
		if _, err := fmt.Sscanf(token, tokenFormat, &rv, &after.Namespace, &after.Name); err != nil {
			op.Err, op.Message = model.Invalid, fmt.Sprintf("expected a continue token, found %q", token)
			return ""
		}
	case op.RV > 0 && (op.Match == model.MatchExact || op.Match == model.MatchUnset && op.Limit > 0 && !op.Scope.Single()):
		// Without a match, a limit means an exact list, except for a single object.
		rv = op.RV
	}
	if compacted := s.compactedLocked(); model.ReadRefused(rv, compacted) {
		op.Err, op.Message = model.Expired, fmt.Sprintf("%d is compacted, history begins at %d", rv, compacted)
		return ""
	}
	state := s.viewLocked().List(op.Scope, op.Selector, rv)
	if token != "" {
		state = slices.DeleteFunc(state, func(object *model.Object) bool { return object.Key().Compare(after) <= 0 })
	}
	op.ResultRV, op.Remaining = rv, -1
	if op.Limit > 0 && int64(len(state)) > op.Limit {
		last := state[op.Limit-1]
		next, op.HasMore = fmt.Sprintf(tokenFormat, rv, last.Namespace, last.Name), true
		if op.Selector.Empty() {
			op.Remaining = int64(len(state)) - op.Limit
		}
		state = state[:op.Limit]
	}
	for _, object := range state {
		op.Objects = append(op.Objects, *object)
	}
	return next
}

// tokenFormat is that of a continue token: the list's RV and the previous page's last key.
const tokenFormat = "%d %s %s"

// futureWait is how long a request for a future RV waits for it.
const futureWait = 3 * time.Second

// waitFor waits, up to a limit, until the store has reached rv.
func (s *Store) waitFor(ctx context.Context, rv int64) bool {
	ctx, cancel := context.WithTimeout(ctx, futureWait)
	defer cancel()
	for {
		s.mu.Lock()
		reached, wake := s.truth.Revision >= rv, s.wake
		s.mu.Unlock()
		if reached {
			return true
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return false
		}
	}
}

// wait reports whether ctx lasted that long.
func wait(ctx context.Context, duration time.Duration) bool {
	select {
	case <-time.After(duration):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
