package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scripted is a source whose watches deliver what a test sends, and end when the
// test closes their channel or the context ends.
type scripted struct{ events []chan []int64 }

func (s *scripted) watch(ctx context.Context, client int) (receive, error) {
	if client >= len(s.events) {
		return nil, errors.New("too many watches")
	}
	return func() []int64 {
		select {
		case revisions := <-s.events[client]:
			return revisions
		case <-ctx.Done():
			return nil
		}
	}, nil
}

func (s *scripted) connections() int { return 1 }
func (s *scripted) stop()            {}

func reached(t *tally) bool {
	select {
	case <-t.reached:
		return true
	default:
		return false
	}
}

func TestClientsAreWaitedForInTwoSteps(t *testing.T) {
	from := &scripted{events: []chan []int64{make(chan []int64), make(chan []int64)}}
	ctx, cancel := context.WithCancel(t.Context())
	all := newClients(2, 2, 1)
	require.NoError(t, all.open(ctx, from))
	require.NoError(t, all.open(ctx, from))
	require.ErrorContains(t, all.open(ctx, from), "too many watches")

	from.events[0] <- []int64{2, 3}
	from.events[1] <- []int64{2}
	require.False(t, reached(all.opened), "the second client has one of two initial events")
	from.events[1] <- []int64{3}
	ok, err := all.opened.wait(ctx, patience)
	require.NoError(t, err)
	require.True(t, ok)

	from.events[0] <- []int64{4}
	require.False(t, reached(all.delivered), "the second client lacks the write")
	ok, err = all.delivered.wait(ctx, time.Nanosecond)
	require.NoError(t, err)
	require.False(t, ok, "waiting has an end")
	from.events[1] <- []int64{4}
	ok, err = all.delivered.wait(ctx, patience)
	require.NoError(t, err)
	require.True(t, ok)

	cancel()
	all.running.Wait()
	found, _ := check([]int64{2, 3}, []write{{revision: 4}}, all.all)
	require.Equal(t, delivery{Expected: 6}, found, "a watch that we end has not been ended by the server")
	_, err = newTally(1).wait(ctx, patience)
	require.ErrorIs(t, err, context.Canceled)
}

// TestNobodyWaitsForAnEndedWatch: what it owed is missing, and nothing else.
func TestNobodyWaitsForAnEndedWatch(t *testing.T) {
	from := &scripted{events: []chan []int64{make(chan []int64), make(chan []int64)}}
	ctx, cancel := context.WithCancel(t.Context())
	all := newClients(2, 1, 2)
	require.NoError(t, all.open(ctx, from))
	require.NoError(t, all.open(ctx, from))
	from.events[0] <- []int64{2, 3, 4}
	from.events[1] <- []int64{2, 3}
	close(from.events[1])
	ok, err := all.delivered.wait(ctx, patience)
	require.NoError(t, err)
	require.True(t, ok)
	cancel()
	all.running.Wait()
	found, _ := check([]int64{2}, []write{{revision: 3}, {revision: 4}}, all.all)
	require.Equal(t, delivery{Expected: 6, Missing: 1, Ended: 1}, found)
}
