package simnet

import (
	"slices"
	"time"
)

// Partition stops all traffic between two hosts, both ways: segments in flight, later
// writes, and dials. TCP retransmits, so nothing is lost: it arrives in order after the
// partition has healed, at TCP's next retransmission.
func (n *Network) Partition(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.partitionLocked(a, b)
	n.partitionLocked(b, a)
}

// PartitionOneWay is like Partition, for one direction. Dials fail in both directions,
// since they need the way back as well.
func (n *Network) PartitionOneWay(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.partitionLocked(from, to)
}

func (n *Network) partitionLocked(from, to string) {
	l := n.linkLocked(n.hostLocked(from), n.hostLocked(to))
	l.partitioned = true
	n.withholdLocked(l, n.now())
}

// withholdLocked takes back what is in flight on a link.
func (n *Network) withholdLocked(l *link, now int64) {
	l.freeAt = min(l.freeAt, now)
	for _, s := range n.streamsLocked(l) {
		n.stats.SegmentsHeld += s.stop(now)
	}
}

// BlackHole drops what one host sends to another, including segments in flight. A stream
// that has lost a byte never delivers anything after it, even after healing: its bytes
// accumulate until the buffer is full, unless the connection is closed or reset.
// Connections that sent nothing meanwhile, and new ones after healing, work.
func (n *Network) BlackHole(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, now := n.linkLocked(n.hostLocked(from), n.hostLocked(to)), n.now()
	l.blackHole, l.freeAt = true, min(l.freeAt, now)
	for _, s := range n.streamsLocked(l) {
		s.lose(now)
	}
}

// Heal ends every partition and black hole between two hosts, in both directions. A frozen
// host stays frozen.
func (n *Network) Heal(a, b string) {
	n.mu.Lock()
	first, second := n.hostLocked(a), n.hostLocked(b)
	now := n.now()
	wake := n.healLocked(n.linkLocked(first, second), now, nil)
	wake = n.healLocked(n.linkLocked(second, first), now, wake)
	n.unlock(wake)
}

func (n *Network) healLocked(l *link, now int64, wake []*waitPoint) []*waitPoint {
	if !l.blocked() {
		return wake
	}
	l.partitioned, l.blackHole = false, false
	return n.resumeLocked(l, now, wake)
}

// resumeLocked sends what a link withheld, unless something blocks it still.
func (n *Network) resumeLocked(l *link, now int64, wake []*waitPoint) []*waitPoint {
	if l.blocked() {
		return wake
	}
	for _, s := range n.streamsLocked(l) {
		wake = s.resume(now, wake)
	}
	return wake
}

// Freeze withholds everything that a host sends or receives, even to itself, or lets it pass again,
// as when the machine is paused. Other faults on its links are not affected.
func (n *Network) Freeze(host string, freeze bool) {
	n.mu.Lock()
	h, now := n.hostLocked(host), n.now()
	var wake []*waitPoint
	if h.frozen != freeze {
		h.frozen = freeze
		for _, l := range n.linkOrder {
			switch {
			case l.from != h && l.to != h:
			case freeze:
				n.withholdLocked(l, now)
			default:
				wake = n.resumeLocked(l, now, wake)
			}
		}
	}
	n.unlock(wake)
}

// SlowHost adds delay to everything that a host sends to others or receives from them,
// whatever the latency of its links. Segments in flight keep their time of arrival.
func (n *Network) SlowHost(host string, delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hostLocked(host).delay = delay
}

// ResetLink resets all connections between two hosts, whoever dialed: as if something
// between them had sent a reset to either end. What has arrived can still be read; what was
// in flight is lost. It returns how many there were.
func (n *Network) ResetLink(a, b string) int {
	n.mu.Lock()
	now := n.now()
	count := 0
	var wake []*waitPoint
	for _, c := range n.conns {
		if joins(c, a, b) || joins(c, b, a) {
			count++
			n.stats.Resets++
			for _, s := range [...]*stream{c.out, c.in} {
				s.stop(now)
				s.lost = true
				s.rst = notice{sent: true, at: now}
				wake = s.wakeReset(now, wake)
			}
		}
	}
	n.unlock(wake)
	return count
}

// joins reports whether c was dialed from one host to another.
func joins(c *Conn, from, to string) bool { return c.host.name == from && c.peer.host.name == to }

// Refuse makes a host refuse all dials, or accept them again. Existing connections are not
// affected.
func (n *Network) Refuse(host string, refuse bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hostLocked(host).refusing = refuse
}

// CrashHost ends everything of a host at once: its listeners close, and its connections are
// reset. A peer learns of that after the link's latency and after the segments in flight;
// across a partition, after it has healed.
//
// The host's goroutines are not woken, so nothing here depends on their ever
// running again. The host may listen and dial again at once.
func (n *Network) CrashHost(host string) {
	n.mu.Lock()
	h, now := n.hostLocked(host), n.now()
	for _, l := range slices.Clone(h.listeners) {
		l.closeLocked()
	}
	var dead []*Conn
	for _, c := range n.conns {
		if c.host == h || c.peer.host == h {
			n.stats.Resets++
		}
		for _, end := range [...]*Conn{c, c.peer} {
			if end.host == h {
				end.in.reads.abandoned, end.out.writes.abandoned = true, true
				dead = append(dead, end)
			}
		}
	}
	// Only now, so that no end is woken before it has been dropped itself.
	var wake []*waitPoint
	for _, end := range dead {
		wake = n.dropLocked(end, now, wake)
	}
	n.unlock(wake)
}

// dropLocked ends one end of a connection as when its kernel dies: pending retransmissions
// are never sent.
func (n *Network) dropLocked(c *Conn, now int64, wake []*waitPoint) []*waitPoint {
	c.closed = true
	c.out.lost = c.out.lost || c.out.unscheduled > 0
	wake = c.out.reset(now, now, wake)
	if !c.peer.closed {
		wake = c.out.reads.renew(wake)
		wake = c.in.writes.renew(wake)
	}
	n.forgetLocked(c)
	return wake
}

// streamsLocked returns the live streams on a link, in order of creation.
func (n *Network) streamsLocked(l *link) []*stream {
	var streams []*stream
	for _, c := range n.conns {
		for _, s := range [...]*stream{c.out, c.in} {
			if s.link == l {
				streams = append(streams, s)
			}
		}
	}
	return streams
}
