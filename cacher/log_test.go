package cacher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The window keeps to its limits, in order, at stable positions, and knows from which RV on it is
// complete.
func TestTheWindowKeepsToItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits{
			age: time.Duration(rapid.IntRange(0, 20).Draw(t, "age")),
			min: rapid.IntRange(1, 10).Draw(t, "min"), bytes: rapid.Int64Range(0, 30).Draw(t, "bytes"),
		}
		l.max = l.min + rapid.IntRange(0, 20).Draw(t, "max")
		log := newEventLog(l)
		log.reset(5)
		all := map[uint64]*event{}
		now, rv := time.Unix(0, 0), uint64(5)
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "pause")))
			rv += rapid.Uint64Range(1, 3).Draw(t, "step")
			e := &event{rv: rv, received: now, size: rapid.Int64Range(0, 4).Draw(t, "size")}
			all[log.end] = e
			log.add(e)
			log.dispatched = log.end

			count := int(log.end - log.first)
			require.LessOrEqual(t, count, l.max)
			var bytes int64
			for p := log.first; p < log.end; p++ {
				require.Same(t, all[p], log.at(p))
				bytes += log.at(p).size
			}
			require.Equal(t, bytes, log.bytes)
			require.True(t, l.bytes == 0 || bytes <= l.bytes || count == 1)
			if gone := all[log.first-1]; log.first > 0 {
				require.Equal(t, gone.rv, log.floor)
				require.True(t, count >= l.min || l.bytes > 0, "young or few events were evicted")
			} else {
				require.EqualValues(t, 5, log.floor)
			}
		}
		from := rapid.Uint64Range(1, rv+2).Draw(t, "from")
		position, held := log.after(from)
		require.Equal(t, from >= log.floor, held)
		if held {
			require.True(t, position == log.end || log.at(position).rv > from)
			require.True(t, position == log.first || log.at(position-1).rv <= from)
		}
	})
}

func TestUndispatchedEventsStay(t *testing.T) {
	log := newEventLog(limits{min: 1, max: 2})
	for rv := range uint64(100) {
		log.add(&event{rv: rv})
	}
	require.EqualValues(t, 100, log.end-log.first)
	log.dispatched = 90
	log.add(&event{rv: 100})
	require.EqualValues(t, 90, log.first)
}

func TestOldEventsForgetWhatTheyWereEncodedTo(t *testing.T) {
	log := newEventLog(limits{min: 1, max: 4 * encodedEvents})
	for rv := range uint64(2 * encodedEvents) {
		e := &event{rv: rv}
		e.payloads.after.Store(&payload{})
		log.add(e)
	}
	for p := range log.end {
		require.Equal(t, p >= encodedEvents, log.at(p).payloads.after.Load() != nil, p)
	}
}
