package workload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target/memory"
	"github.com/watchsim/watchsim/model"
)

// paused returns how long a consumer waits before one event.
func paused(c *consumer) time.Duration {
	began := time.Now()
	c.pause(context.Background())
	return time.Since(began)
}

func TestAConsumerReadsAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsumer(streams(1)("consumer"))
		require.Zero(t, paused(c))

		require.Equal(t, Slow, c.begin(pace{name: Slow, delay: 30 * time.Millisecond}))
		for range 3 {
			require.Equal(t, 30*time.Millisecond, paused(c))
		}

		require.Equal(t, Hiccuping, c.begin(pace{name: Hiccuping, delay: time.Second, every: 10}))
		var hiccups int
		for range 1000 {
			if pause := paused(c); pause > 0 {
				require.Equal(t, time.Second, pause)
				hiccups++
			}
		}
		require.InDelta(t, 100, hiccups, 50)

		require.Equal(t, Stalled, c.begin(pace{name: Stalled, after: 2}))
		require.Zero(t, paused(c))
		require.Zero(t, paused(c))
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		require.False(t, c.pause(ctx), "a stalled consumer waits until it is cancelled")
	})
}

func TestAFaultForcesAPaceUntilItHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsumer(streams(1)("consumer"))
		c.force(pace{name: Slow, delay: time.Second})
		require.Equal(t, time.Second, paused(c))
		c.force(pace{name: Stalled})
		time.AfterFunc(time.Minute, c.release)
		require.Equal(t, time.Minute, paused(c), "healing wakes who is stalled")
		require.Zero(t, paused(c))
	})
}

func TestWhenTheRunHealsOnlyAStalledStreamStaysStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, stalled := newConsumer(streams(1)("slow")), newConsumer(streams(1)("stalled"))
		slow.begin(pace{name: Slow, delay: time.Hour})
		slow.force(pace{name: Stalled})
		stalled.begin(pace{name: Stalled})
		time.AfterFunc(time.Minute, func() {
			slow.heal()
			stalled.heal()
		})
		require.Equal(t, time.Minute, paused(slow))
		require.Zero(t, paused(slow))
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		require.False(t, stalled.pause(ctx))
		require.Equal(t, Fast, stalled.begin(pace{name: Stalled}), "new streams are read fast")
		require.Zero(t, paused(stalled))
	})
}

func TestConsumersAreSetByName(t *testing.T) {
	config := DefaultConfig()
	history := run(t, 2, config, func(w *Workload, _ *memory.Store) []model.Fault {
		require.ErrorContains(t, w.StallConsumer("writer-0"), `found "writer-0"`)
		for _, client := range config.Consumers() {
			require.NoError(t, w.StallConsumer(client))
		}
		time.Sleep(20 * time.Second)
		for _, client := range config.Consumers() {
			require.NoError(t, w.SlowConsumer(client, time.Second))
		}
		time.Sleep(10 * time.Second)
		for _, client := range config.Consumers() {
			require.NoError(t, w.HealConsumer(client))
		}
		return nil
	})
	var slow, healed int
	for _, stream := range history.Streams {
		for i, event := range stream.Events {
			// An event that the client was already waiting for when the stall began
			// still arrives.
			require.True(t, event.Time <= int64(time.Second) || event.Time >= int64(20*time.Second) || i == 0,
				"%s read at %v", stream.Client, time.Duration(event.Time))
			switch {
			case event.Time >= int64(32*time.Second):
				healed++
			case event.Time >= int64(20*time.Second):
				slow++
			}
		}
	}
	require.Positive(t, slow)
	require.Greater(t, healed, slow)
	require.Equal(t, append([]string{"writer-0", "writer-1", "writer-2", "writer-3", "reader-0", "reader-1"},
		append(config.Consumers(), "closer")...), config.Clients())
	require.Equal(t, history.Truth.Revision, history.Informers[0].LastSyncRV)
	require.NotEqual(t, model.Pending, history.Operations[0].Return)
}

func TestConsumersCatchUpWhenTheRunHeals(t *testing.T) {
	config := DefaultConfig()
	history := run(t, 4, config, func(w *Workload, _ *memory.Store) []model.Fault {
		time.Sleep(10 * time.Second)
		for _, client := range config.Consumers() {
			require.NoError(t, w.StallConsumer(client))
		}
		return nil
	})
	require.Equal(t, history.Truth.Revision, history.Informers[0].LastSyncRV)
	for _, client := range clientNames("reflector", config.Reflectors) {
		steps := stepsOf(&history, client)
		last := steps[len(steps)-1].stream
		require.NotNil(t, last)
		require.Equal(t, history.Truth.Revision, lastRV(last))
	}
}
