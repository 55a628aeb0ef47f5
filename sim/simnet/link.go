package simnet

import (
	"math/rand/v2"
	"time"
)

// Link has the properties of the link from one host to another. The zero Link delivers at
// once.
type Link struct {
	Latency Latency
	// Bandwidth is in bytes per second, shared by all connections on the link;
	// 0 is unlimited.
	Bandwidth int64
}

// Latency is the distribution of the time that a segment is in flight. Segments of one
// connection never overtake each other: a late one delays those behind it.
type Latency struct {
	// Min and Max bound the usual latency, which is uniform between them. A Max
	// below Min stands for Min.
	Min, Max time.Duration
	// TailProbability is the probability that a segment is late, by up to Tail more.
	TailProbability float64
	Tail            time.Duration
}

// sample draws one latency. A fixed one draws no random number.
func (l Latency) sample(random *rand.Rand) time.Duration {
	d := l.Min
	if l.Max > l.Min {
		d += time.Duration(random.Int64N(int64(l.Max-l.Min) + 1))
	}
	if l.TailProbability > 0 && l.Tail > 0 && random.Float64() < l.TailProbability {
		d += time.Duration(random.Int64N(int64(l.Tail)) + 1)
	}
	return d
}

// link is the link from one host to another, and its state.
type link struct {
	Link
	from, to *host
	rand     *rand.Rand

	partitioned bool  // nothing passes; it is sent again later
	blackHole   bool  // nothing passes; what is sent is gone
	freeAt      int64 // when the last byte sent so far has left, if bandwidth is limited
}

// blocked reports whether nothing passes at present.
func (l *link) blocked() bool { return l.withheld() || l.blackHole }

// withheld reports whether what is sent waits for a fault to heal.
func (l *link) withheld() bool { return l.partitioned || l.from.frozen || l.to.frozen }

// instant reports whether segments arrive as soon as they are sent.
func (l *link) instant() bool { return l.Link == Link{} && l.slowed() == 0 }

// slowed returns by how much the slow hosts at the ends of the link delay what passes.
func (l *link) slowed() time.Duration {
	if l.from == l.to {
		return 0
	}
	return l.from.delay + l.to.delay
}

// arrival sends size bytes no earlier than at, and returns when they arrive.
func (l *link) arrival(size int, at int64) int64 {
	if l.Bandwidth > 0 {
		at = max(at, l.freeAt) + int64(size)*int64(time.Second)/l.Bandwidth
		l.freeAt = at
	}
	return at + int64(l.Latency.sample(l.rand)+l.slowed())
}

// retransmitMin is Linux' shortest time until data is sent again.
const retransmitMin = 200 * time.Millisecond

// retransmission returns when data first sent at since is retransmitted at or after now, with
// exponential backoff up to a limit.
func retransmission(since, now int64, limit time.Duration) int64 {
	patience := retransmitMin
	for at := since; ; patience = min(2*patience, limit) {
		at += int64(patience)
		if at >= now {
			return at
		}
	}
}

// SetLatency sets the latency of the link from one host to another. Segments already in
// flight keep their time of arrival.
func (n *Network) SetLatency(from, to string, latency Latency) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.linkLocked(n.hostLocked(from), n.hostLocked(to)).Latency = latency
}

// SetBandwidth sets the bandwidth of the link from one host to another, in
// bytes per second; 0 is unlimited.
func (n *Network) SetBandwidth(from, to string, bytesPerSecond int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.linkLocked(n.hostLocked(from), n.hostLocked(to)).Bandwidth = bytesPerSecond
}
