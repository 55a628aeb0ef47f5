package simnet

// segmentBytes is the largest segment of a Write. Segments of one Write may arrive at
// different times, and a fault may occur between them.
const segmentBytes = 16 << 10

// stream is one direction of a connection: the bytes that were written and not
// read yet. Those at the front are scheduled, in segments; behind them may be
// bytes that wait for a partition to heal, or that are lost.
type stream struct {
	network *Network
	link    *link
	reverse *stream // the other direction of the same connection

	reads  waitPoint // calls of Read at the receiving end
	writes waitPoint // the call of Write at the sending end that waits for room
	turn   waitPoint // those that wait for that one to finish

	bytes       byteQueue
	segments    segmentQueue
	unscheduled int   // bytes at the end of the queue that are in no segment
	lastArrival int64 // when the last thing scheduled arrives

	held      bool  // something waits for a partition or a frozen host to heal
	heldSince int64 // when the first such thing was sent
	lost      bool  // something is missing, so nothing behind it can be delivered

	fin notice // the sender writes no more
	rst notice // the sender disowns the connection

	writing  bool // a Write waits for room, and others for their turn
	receiver receiver
}

// notice is a segment without bytes that ends a stream.
type notice struct {
	sent bool
	at   int64 // when it arrives; never if it is held or lost
}

// arrived reports whether the notice has arrived.
func (o *notice) arrived(now int64) bool { return o.sent && o.at <= now }

// receiver is what happens to bytes that arrive.
type receiver uint8

const (
	reading    receiver = iota
	discarding          // CloseRead: they are thrown away
	gone                // Close: they are answered with a reset
)

func newStream(n *Network, l *link) *stream {
	return &stream{
		network: n, link: l, reads: newWaitPoint(), writes: newWaitPoint(), turn: newWaitPoint(),
		fin: notice{at: never}, rst: notice{at: never},
	}
}

// write takes as much of p, and of so much filler behind it, as there is room for, and
// returns how much.
func (s *stream) write(p []byte, fill int, now int64, wake []*waitPoint) (int, []*waitPoint) {
	taken := len(p) + fill
	if s.receiver != discarding {
		taken = s.bytes.write(p, fill)
	}
	s.network.stats.Sent += int64(taken)
	if taken == 0 || s.receiver == discarding {
		return taken, wake
	}
	s.lost = s.lost || s.link.blackHole
	switch {
	case s.lost:
		s.network.stats.SegmentsLost++
		s.unscheduled += taken
	case s.link.withheld():
		s.network.stats.SegmentsHeld++
		s.unscheduled += taken
		s.hold(now)
	default:
		wake = s.transmit(taken, now, now, wake)
	}
	return taken, wake
}

// transmit schedules the first size bytes that are in no segment, to be sent
// no earlier than at.
func (s *stream) transmit(size int, at, now int64, wake []*waitPoint) []*waitPoint {
	for size > 0 {
		part := min(size, segmentBytes)
		size -= part
		s.lastArrival = max(s.lastArrival, s.link.arrival(part, at))
		s.segments.push(segment{part, s.lastArrival})
	}
	if s.receiver == gone {
		return s.reverse.reset(s.lastArrival, now, wake)
	}
	return s.reads.wakeAt(s.segments.front().arriveAt, now, wake)
}

// read moves what has arrived into p, as far as it fits, or throws away up to limit bytes
// of it if p is nil.
func (s *stream) read(p []byte, limit int, now int64, wake []*waitPoint) (int, []*waitPoint) {
	count := 0
	for !s.segments.empty() && count < limit {
		front := s.segments.front()
		if front.arriveAt > now {
			break
		}
		part := min(front.size, limit-count)
		count += part
		if front.size -= part; front.size == 0 {
			s.segments.pop()
		}
	}
	if count > 0 {
		if p == nil {
			s.bytes.skip(count)
		} else {
			s.bytes.read(p[:count])
		}
		wake = s.wakeWriter(wake)
	}
	return count, wake
}

// wakeWriter wakes a Write that waits for room once there is enough of it: waking it for
// each byte would be expensive.
func (s *stream) wakeWriter(wake []*waitPoint) []*waitPoint {
	if s.bytes.room() < StreamBuffer/2 {
		return wake
	}
	return s.writes.passOn(wake)
}

// discard makes the stream drop all its present and future bytes.
func (s *stream) discard(wake []*waitPoint) []*waitPoint {
	s.receiver = discarding
	s.bytes, s.segments, s.unscheduled = byteQueue{}, segmentQueue{}, 0
	return s.wakeWriter(wake)
}

// nextNews returns when a Read that found nothing should look again.
func (s *stream) nextNews() int64 {
	if !s.segments.empty() {
		return min(s.segments.front().arriveAt, s.rst.at)
	}
	return min(s.fin.at, s.rst.at)
}

// finish tells the receiving end that no more bytes follow.
func (s *stream) finish(now int64, wake []*waitPoint) []*waitPoint {
	if s.fin.sent {
		return wake
	}
	s.fin.sent = true
	s.lost = s.lost || s.link.blackHole
	switch {
	case s.lost, s.rst.sent: // It would not arrive; a reset leaves nothing to add.
	case s.link.withheld():
		s.hold(now)
	default:
		wake = s.scheduleFin(now, now, wake)
	}
	return wake
}

func (s *stream) scheduleFin(at, now int64, wake []*waitPoint) []*waitPoint {
	s.lastArrival = max(s.lastArrival, s.link.arrival(0, at))
	s.fin.at = s.lastArrival
	return s.reads.wakeAt(s.fin.at, now, wake)
}

// reset tells the receiving end, by a segment sent at an instant, that the connection is no
// more. A reset is never lost for good: whatever a peer sends to a connection that no
// longer exists is answered with another reset.
func (s *stream) reset(at, now int64, wake []*waitPoint) []*waitPoint {
	if s.rst.sent {
		return wake
	}
	s.rst.sent = true
	if s.link.blocked() {
		s.hold(now)
		return wake
	}
	return s.scheduleReset(at, now, wake)
}

func (s *stream) scheduleReset(at, now int64, wake []*waitPoint) []*waitPoint {
	s.rst.at = max(s.lastArrival, s.link.arrival(0, at))
	return s.wakeReset(now, wake)
}

// wakeReset wakes the calls at the end that receives a reset when it arrives.
func (s *stream) wakeReset(now int64, wake []*waitPoint) []*waitPoint {
	wake = s.reads.wakeAt(s.rst.at, now, wake)
	return s.reverse.writes.wakeAt(s.rst.at, now, wake)
}

// hold notes that something sent at an instant waits for the link to heal.
func (s *stream) hold(now int64) {
	if !s.held {
		s.held, s.heldSince = true, now
	}
}

// stop takes back everything that has not arrived yet.
func (s *stream) stop(now int64) (segments int) {
	segments, size := s.segments.cut(now)
	s.unscheduled += size
	finCut, rstCut := s.fin.sent && s.fin.at > now, s.rst.sent && s.rst.at > now
	if finCut {
		s.fin.at = never
	}
	if rstCut {
		s.rst.at = never
	}
	if segments > 0 || finCut || rstCut {
		s.hold(now)
	}
	s.lastArrival = min(s.lastArrival, now)
	return segments
}

// lose makes everything that has not arrived yet be lost.
func (s *stream) lose(now int64) {
	s.network.stats.SegmentsLost += s.stop(now)
	s.lost = s.lost || s.unscheduled > 0 || s.fin.sent && s.fin.at == never
}

// resume retransmits what was withheld, when TCP would: the longer the partition, the rarer
// the attempts.
func (s *stream) resume(now int64, wake []*waitPoint) []*waitPoint {
	if !s.held {
		return wake
	}
	s.held = false
	at := retransmission(s.heldSince, now, s.network.config.RetransmitMax)
	if !s.lost {
		if size := s.unscheduled; size > 0 {
			s.unscheduled = 0
			wake = s.transmit(size, at, now, wake)
		}
		if s.fin.sent && s.fin.at == never {
			wake = s.scheduleFin(at, now, wake)
		}
	}
	if s.rst.sent && s.rst.at == never {
		wake = s.scheduleReset(at, now, wake)
	}
	return wake
}
