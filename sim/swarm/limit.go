package swarm

import (
	"fmt"
	"sync/atomic"
	"time"
)

// starvedMost is how many times its limit of processor time a run may take on the
// clock. A machine that is busy with something else gives a worker a few hundredths
// of a processor, and a run that is given up for that says nothing about the code.
const starvedMost = 10

// watchdog ends a run that takes too long.
type watchdog struct {
	reason atomic.Pointer[string]
	done   chan struct{}
}

// watch calls kill once a run that begins now has taken longer than limit. It counts
// the processor time that used tells of, or all time where that is not known.
func watch(limit time.Duration, used func() (time.Duration, error), kill func()) *watchdog {
	w := &watchdog{done: make(chan struct{})}
	began := time.Now()
	before, unknown := used()
	go func() {
		for wait := limit; ; {
			timer := time.NewTimer(wait)
			select {
			case <-w.done:
				timer.Stop()
				return
			case <-timer.C:
			}
			clock := time.Since(began)
			processor := clock
			if now, err := used(); err == nil && unknown == nil {
				processor = now - before
			}
			var reason string
			if wait, reason = assess(limit, processor, clock); reason != "" {
				w.reason.Store(&reason)
				kill()
				return
			}
		}
	}()
	return w
}

// assess tells what a run has taken too long of, or else after what time that may be
// so at the earliest.
func assess(limit, processor, clock time.Duration) (wait time.Duration, reason string) {
	clockMost := starvedMost * limit
	switch {
	case processor >= limit:
		return 0, fmt.Sprintf("%v of processor time", limit)
	case clock >= clockMost:
		return 0, fmt.Sprintf("%v on the clock, %v of it on a processor: the machine is busy with something else, "+
			"or the run waits for something outside of it", clockMost, processor.Round(time.Millisecond))
	}
	return min(limit-processor, clockMost-clock), ""
}

// stop ends the watch. It returns what the run took too long of, empty if it did not.
func (w *watchdog) stop() string {
	close(w.done)
	if reason := w.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}
