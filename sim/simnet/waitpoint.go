package simnet

import (
	"math"
	"time"
)

// never is the instant that does not come.
const never = math.MaxInt64

// waitPoint is where the calls of one kind wait: the Reads of an end of a
// connection, its Writes, the Accepts of a listener. The network's lock guards
// all fields; signal is sent on without it.
//
// At most one waiting call is woken at a time. A call that was woken wakes the next one
// when it returns, so that no wake-up is lost.
type waitPoint struct {
	signal   chan struct{} // one token: look again
	waiting  int
	deadline int64

	// The timer is made by the first call that needs one. A call that schedules an arrival
	// for a later instant sets the timer for the waiting call, instead of waking that call
	// only to sleep again.
	timer *time.Timer
	armed int64 // when the timer fires, never if it does not
	timed bool  // a waiting call watches the timer

	// abandoned means that the waiting calls belong to a crashed host, and must not be
	// woken.
	abandoned bool
}

func newWaitPoint() waitPoint {
	return waitPoint{signal: make(chan struct{}, 1), deadline: never, armed: never}
}

// wakeAt makes a waiting call look again at an instant. It returns wake, with the wait
// point added if that instant has come.
func (w *waitPoint) wakeAt(at, now int64, wake []*waitPoint) []*waitPoint {
	switch {
	case w.waiting == 0 || w.abandoned || at == never:
	case at <= now || !w.timed:
		return append(wake, w)
	case at < w.armed:
		w.arm(at, now)
	}
	return wake
}

// passOn wakes the next waiting call, if there is one.
func (w *waitPoint) passOn(wake []*waitPoint) []*waitPoint {
	if w.waiting > 0 && !w.abandoned {
		wake = append(wake, w)
	}
	return wake
}

// arm sets the timer to an instant, or stops it if that is never.
func (w *waitPoint) arm(at, now int64) {
	if w.timer == nil {
		w.timer = time.NewTimer(time.Hour)
		w.timer.Stop()
	}
	if at == w.armed {
		return
	}
	w.armed = at
	if at == never {
		w.timer.Stop()
		return
	}
	w.timer.Reset(time.Duration(at - now))
}

// renew makes waiting calls look again, with a new timer. The old one may have
// been set by a goroutine of a host that has crashed, and then does not fire.
func (w *waitPoint) renew(wake []*waitPoint) []*waitPoint {
	w.timer, w.armed, w.timed = nil, never, false
	return w.passOn(wake)
}

// expired reports whether the deadline has passed.
func (w *waitPoint) expired(now int64) bool { return w.deadline <= now }

// waitLocked unlocks the network, wakes whom it must, and returns with the
// network locked again when there may be news, at the given instant or the
// deadline at the latest. If timed, news that lies in the future may come in
// meanwhile.
func (n *Network) waitLocked(w *waitPoint, until, now int64, timed bool, wake []*waitPoint) {
	until = min(until, w.deadline)
	w.waiting++
	if !timed && until == never {
		n.unlock(wake)
		<-w.signal
		n.mu.Lock()
	} else {
		w.arm(until, now)
		w.timed = true
		fired := w.timer.C
		n.unlock(wake)
		select {
		case <-w.signal:
			n.mu.Lock()
		case <-fired:
			n.mu.Lock()
			w.armed = never
		}
		w.timed = false
	}
	w.waiting--
}

// unlock unlocks the network and wakes a call at each of the wait points.
func (n *Network) unlock(wake []*waitPoint) {
	n.mu.Unlock()
	for _, w := range wake {
		select {
		case w.signal <- struct{}{}:
		default: // A token is there already.
		}
	}
}
