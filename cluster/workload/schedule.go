package workload

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// burstSpread is the time within which the requests of one burst are sent.
const burstSpread = 20 * time.Millisecond

// drawBursts draws the times of the bursts, in order.
func drawBursts(random *rand.Rand, count int, active time.Duration) []time.Duration {
	return drawTimes(count, func() time.Duration { return drawDuration(random, active) })
}

// drawSchedule draws when a client makes its requests, in order: two thirds
// spread evenly over the active phase, one third in bursts.
func drawSchedule(random *rand.Rand, count int, active time.Duration, bursts []time.Duration) []time.Duration {
	return drawTimes(count, func() time.Duration {
		if len(bursts) > 0 && random.IntN(3) == 0 {
			return bursts[random.IntN(len(bursts))] + drawDuration(random, burstSpread)
		}
		return drawDuration(random, active)
	})
}

func drawTimes(count int, draw func() time.Duration) []time.Duration {
	times := make([]time.Duration, count)
	for i := range times {
		times[i] = draw()
	}
	slices.Sort(times)
	return times
}

// drawDuration draws a positive duration up to most, in whole microseconds where most
// allows it.
func drawDuration(random *rand.Rand, most time.Duration) time.Duration {
	unit := time.Microsecond
	if most < unit {
		unit = time.Nanosecond
	}
	return unit * time.Duration(1+random.Int64N(int64(most/unit)))
}

// sleep waits for a duration. It returns false if ctx was done first.
func sleep(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// follow calls act at each scheduled instant, or as soon after it as the
// previous act allows, until ctx is done, with the instant's index. An act returns how many
// requests it made; each beyond the first uses up another instant.
func (c *client) follow(ctx context.Context, schedule []time.Duration, act func(index int) int) {
	if c.part != nil {
		c.takePart(ctx, func(step Step) { act(step.Number - 1) })
		return
	}
	for i := 0; i < len(schedule); {
		if !c.begin(ctx, i+1, schedule[i]) {
			return
		}
		i += max(1, act(i))
	}
}

// backoff is the wait after a failure; it doubles until a success resets it.
type backoff struct{ current time.Duration }

// next is how long to wait after a failure, with jitter so that clients do not stay
// in step.
func (b *backoff) next(random *rand.Rand) time.Duration {
	b.current = min(max(2*b.current, firstBackoff), maxBackoff)
	return b.current/2 + drawDuration(random, b.current/2+1)
}

// fail waits after a failure. It returns false if ctx was done first.
func (b *backoff) fail(ctx context.Context, random *rand.Rand) bool {
	return sleep(ctx, b.next(random))
}

func (b *backoff) succeed() { b.current = 0 }
