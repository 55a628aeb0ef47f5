package workload

import (
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// step is one request of a client: an operation or a stream, not both.
type step struct {
	operation *model.Operation
	stream    *model.Stream
}

func (s step) id() int {
	if s.operation != nil {
		return s.operation.ID
	}
	return s.stream.ID
}

// stepsOf returns a client's requests in the order in which it made them.
func stepsOf(history *model.History, client string) (steps []step) {
	for i := range history.Operations {
		if op := &history.Operations[i]; op.Client == client {
			steps = append(steps, step{operation: op})
		}
	}
	for i := range history.Streams {
		if stream := &history.Streams[i]; stream.Client == client {
			steps = append(steps, step{stream: stream})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return a.id() - b.id() })
	return steps
}

// unrestful yields histories under faults with each of several reflectors in them.
func unrestful(t *testing.T) iter.Seq2[*model.History, string] {
	return func(yield func(*model.History, string) bool) {
		config := DefaultConfig()
		config.Reflectors = 6
		for seed := range uint64(5) {
			history := run(t, seed, config, unrest)
			for _, client := range clientNames("reflector", config.Reflectors) {
				if !yield(&history, client) {
					return
				}
			}
		}
	}
}

func TestAReflectorResumesFromTheLastRVItSaw(t *testing.T) {
	var fromLists, fromStreams int
	for history, client := range unrestful(t) {
		steps := stepsOf(history, client)
		for _, step := range steps {
			stream := step.stream
			if stream == nil || stream.InitialEvents {
				continue
			}
			require.True(t, stream.Bookmarks)
			var source int64
			for _, earlier := range steps {
				switch {
				case earlier.stream != nil && earlier.stream.ID == stream.ResumesStream:
					source, fromStreams = lastRV(earlier.stream), fromStreams+1
				case earlier.operation != nil && earlier.operation.ID == stream.ResumesList:
					source, fromLists = earlier.operation.ResultRV, fromLists+1
				}
			}
			require.Equal(t, source, stream.RV, "%+v", stream)
		}
	}
	require.Positive(t, fromLists)
	require.Positive(t, fromStreams)
}

// lastRV returns the RV of the last event that carries one.
func lastRV(stream *model.Stream) (rv int64) {
	for _, event := range stream.Events {
		if event.Type != model.Error {
			rv = event.RV
		}
	}
	return rv
}

func TestAReflectorListsAgainAfterExpiry(t *testing.T) {
	var relists, restreams int
	for history, client := range unrestful(t) {
		steps := stepsOf(history, client)
		for i, step := range steps[:len(steps)-1] {
			stream := step.stream
			if stream == nil || stream.Closed == model.Pending {
				continue
			}
			expired := stream.Err == model.Expired
			for _, event := range stream.Events {
				expired = expired || event.Err == model.Expired
			}
			if !expired {
				continue
			}
			switch next := steps[i+1]; {
			case next.operation != nil:
				require.Equal(t, model.List, next.operation.Kind)
				require.Zero(t, next.operation.Continues)
				if next.operation.RV > 0 {
					require.Equal(t, model.MatchNotOlderThan, next.operation.Match)
				}
				relists++
			default:
				require.True(t, next.stream.InitialEvents, "%+v", next.stream)
				restreams++
			}
		}
	}
	require.Positive(t, relists)
	require.Positive(t, restreams)
}

func TestAReflectorEndsUpWithTheTruth(t *testing.T) {
	for history, client := range unrestful(t) {
		state, rv := map[model.Key]model.Object{}, int64(0)
		var scope model.Scope
		var selector model.Selector
		for _, step := range stepsOf(history, client) {
			if op := step.operation; op != nil {
				if op.Err != model.OK {
					continue
				}
				if op.Continues == 0 {
					clear(state)
				}
				for _, object := range op.Objects {
					state[object.Key()] = object
				}
				rv = op.ResultRV
				continue
			}
			scope, selector = step.stream.Scope, step.stream.Selector
			if step.stream.InitialEvents && len(step.stream.Events) > 0 {
				clear(state)
			}
			for _, event := range step.stream.Events {
				switch event.Type {
				case model.Added, model.Modified:
					state[event.Object.Key()] = *event.Object
				case model.Deleted:
					delete(state, event.Object.Key())
				}
				if event.Type != model.Error {
					rv = event.RV
				}
			}
		}
		require.Equal(t, history.Truth.Revision, rv, client)
		require.Equal(t, stateOf(history.Truth, scope, selector), contents(&mirror{objects: state}), client)
	}
}

func TestOnlyARoamingReflectorChangesItsServer(t *testing.T) {
	var stay, roam int
	for history, client := range unrestful(t) {
		servers := map[string]bool{}
		for _, step := range stepsOf(history, client) {
			if step.operation != nil {
				servers[step.operation.Server] = true
			} else {
				servers[step.stream.Server] = true
			}
		}
		if len(servers) == 1 {
			stay++
		} else {
			roam++
		}
	}
	require.Greater(t, stay, roam)
	require.Positive(t, roam)
}

func TestAStreamedStateThatBreaksOffIsNotResumed(t *testing.T) {
	added := func(rv int64) model.Event { return model.Event{Type: model.Added, RV: rv} }
	end := model.Event{Type: model.Bookmark, RV: 9, InitialEnd: true}
	for name, row := range map[string]struct {
		events    []model.Event
		resumable bool
		rv        int64
	}{
		"before its first event":        {nil, false, 0},
		"before its end":                {[]model.Event{added(3), added(7)}, false, 0},
		"after its end":                 {[]model.Event{added(3), end}, true, 9},
		"after an event that came next": {[]model.Event{end, added(12)}, true, 12},
		"by an error before its end":    {[]model.Event{added(3), {Type: model.Error, Err: model.Unknown}}, false, 0},
		"by expiry after its end":       {[]model.Event{end, {Type: model.Error, Err: model.Expired}}, false, 9},
		"by an error after its end":     {[]model.Event{end, {Type: model.Error, Err: model.Unknown}}, true, 9},
	} {
		synctest.Test(t, func(t *testing.T) {
			api := newScripted(row.events...)
			time.AfterFunc(time.Minute, api.Stop)
			random := streams(1)("reflector")
			f := &reflector{
				client:   client{random: random, catalog: catalog{DefaultConfig()}, alive: t.Context()},
				consumer: newConsumer(random), pace: pace{name: Fast},
				server: &session{api: api, recorder: newRecorder(time.Now()), timeout: time.Second},
			}
			require.Equal(t, row.resumable, f.streamList(), name)
			require.Equal(t, row.rv, f.rv, name)
		})
	}
}
