package workload

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// The names of paces, as model.Stream.Consumer carries them.
const (
	Fast      = "fast"
	Slow      = "slow"
	Hiccuping = "hiccuping"
	// Stalled is a consumer that stops reading forever. When faults heal, only a stream that was
	// opened with this pace stays stalled.
	Stalled = "stalled"
)

// pace describes how a consumer reads: the name and its parameters.
type pace struct {
	name string
	// delay is how long a slow consumer takes for each event, and the length of a
	// hiccup.
	delay time.Duration
	// every is the mean number of events between two hiccups.
	every int
	// after is how many events a stalled consumer reads before it stops.
	after int
}

// The bounds of paces that are drawn.
const (
	maxSlowDelay   = 400 * time.Millisecond
	maxHiccupDelay = 8 * time.Second
	maxHiccupEvery = 12
	maxStallAfter  = 8
)

// drawPace draws a pace: half of all consumers are fast.
func drawPace(random *rand.Rand, mayStall bool) pace {
	choices := 7
	if mayStall {
		choices = 8
	}
	switch random.IntN(choices) {
	case 4, 5:
		return pace{name: Slow, delay: drawDuration(random, maxSlowDelay)}
	case 6:
		return pace{name: Hiccuping, delay: drawDuration(random, maxHiccupDelay), every: 1 + random.IntN(maxHiccupEvery)}
	case 7:
		return drawStalledPace(random)
	default:
		return pace{name: Fast}
	}
}

// drawStalledPace draws the pace of a stalled watcher.
func drawStalledPace(random *rand.Rand) pace {
	return pace{name: Stalled, after: random.IntN(maxStallAfter)}
}

// consumer decides how long its client waits before each event. Its own pace is drawn;
// a fault may force another one until it heals. The lock guards all fields; a change of
// pace closes changed to wake the client.
type consumer struct {
	mu      sync.Mutex
	random  *rand.Rand
	own     pace
	forced  *pace
	healed  bool
	read    int // events read at its own pace
	changed chan struct{}
}

func newConsumer(random *rand.Rand) *consumer {
	return &consumer{random: random, own: pace{name: Fast}, changed: make(chan struct{})}
}

// begin starts a stream at the given pace and returns the pace's name. Once faults have
// healed, every new stream is read fast.
func (c *consumer) begin(own pace) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.healed {
		own = pace{name: Fast}
	}
	c.own, c.read = own, 0
	return own.name
}

// force imposes a pace until release or heal.
func (c *consumer) force(forced pace) { c.change(func() { c.forced = &forced }) }

// release ends a forced pace.
func (c *consumer) release() { c.change(func() { c.forced = nil }) }

// heal makes the client read as fast as it can from now on, except on a stream that stalls forever.
func (c *consumer) heal() {
	c.change(func() {
		c.forced, c.healed = nil, true
		if c.own.name != Stalled {
			c.own = pace{name: Fast}
		}
	})
}

func (c *consumer) change(apply func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	apply()
	close(c.changed)
	c.changed = make(chan struct{})
}

// pause waits until the client is ready to read the next event. It returns
// false if ctx was done first.
func (c *consumer) pause(ctx context.Context) bool {
	for {
		wait, stalled, changed := c.next()
		if wait == 0 && !stalled {
			return ctx.Err() == nil
		}
		var ready <-chan time.Time
		if !stalled {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			ready = timer.C
		}
		select {
		case <-ctx.Done():
			return false
		case <-ready:
			return true
		case <-changed:
			// The pace has changed: decide again.
		}
	}
}

// next draws how long to wait before the next event.
func (c *consumer) next() (wait time.Duration, stalled bool, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	current := c.own
	if c.forced != nil {
		current = *c.forced
	}
	c.read++
	switch current.name {
	case Slow:
		wait = current.delay
	case Hiccuping:
		if c.random.IntN(current.every) == 0 {
			wait = current.delay
		}
	case Stalled:
		stalled = c.read > current.after
	}
	return wait, stalled, c.changed
}
