package simnet

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Conn is one end of a connection, with the behaviour of a net.TCPConn or
// net.UnixConn. Its methods may be called concurrently.
type Conn struct {
	network       *Network
	host          *host // where this end is
	local, remote net.Addr
	peer          *Conn
	in, out       *stream
	patience      time.Duration // see Config

	closed bool // by Close, or because the host crashed
}

var _ net.Conn = (*Conn)(nil)

// Read reads what has arrived, and waits for the first byte if nothing has. It
// returns io.EOF after the last byte that the peer sent before it closed, and
// ECONNRESET once the connection was reset and all that had arrived is read.
func (c *Conn) Read(p []byte) (int, error) { return c.receive(p, len(p)) }

// Discard reads and drops up to size bytes.
func (c *Conn) Discard(size int) (int, error) { return c.receive(nil, size) }

// receive reads into p, or discards up to limit bytes if p is nil.
func (c *Conn) receive(p []byte, limit int) (int, error) {
	n, s := c.network, c.in
	wake := make([]*waitPoint, 0, 4)
	n.mu.Lock()
	c.limitLocked(&s.reads)
	for {
		now := n.now()
		err := c.readErrorLocked(now)
		if err != nil || limit == 0 {
			return 0, c.done(&s.reads, wake, "read", err)
		}
		var count int
		if count, wake = s.read(p, limit, now, wake); count > 0 {
			return count, c.done(&s.reads, wake, "read", nil)
		}
		switch {
		case s.fin.arrived(now):
			return 0, c.done(&s.reads, wake, "read", io.EOF)
		case s.rst.arrived(now):
			return 0, c.done(&s.reads, wake, "read", os.NewSyscallError("read", syscall.ECONNRESET))
		}
		n.waitLocked(&s.reads, s.nextNews(), now, !s.link.instant(), wake)
		wake = wake[:0]
	}
}

// limitLocked sets the deadline of a call that begins, where calls have one.
func (c *Conn) limitLocked(w *waitPoint) {
	if c.patience > 0 {
		w.deadline = c.network.now() + c.patience.Nanoseconds()
	}
}

// readErrorLocked returns why a Read fails regardless of what has arrived.
func (c *Conn) readErrorLocked(now int64) error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.in.reads.expired(now):
		return os.ErrDeadlineExceeded
	case c.in.receiver == discarding:
		return io.EOF
	}
	return nil
}

// Write passes all of p to the network, and waits while StreamBuffer bytes are in flight or
// unread. Concurrent Writes do not interleave. Like TCP's, a Write that succeeds says
// nothing about arrival.
func (c *Conn) Write(p []byte) (int, error) { return c.send(p, 0) }

// WriteFilled writes p followed by a number of filler bytes, which need no memory and read
// as zeros.
func (c *Conn) WriteFilled(p []byte, fill int) (int, error) { return c.send(p, fill) }

func (c *Conn) send(p []byte, fill int) (int, error) {
	n, s := c.network, c.out
	wake := make([]*waitPoint, 0, 4)
	size, written, mine := len(p)+fill, 0, false
	n.mu.Lock()
	c.limitLocked(&s.writes)
	for {
		now := n.now()
		err := c.writeErrorLocked(now)
		if err == nil && (mine || !s.writing) {
			var taken int
			rest := p[min(written, len(p)):]
			taken, wake = s.write(rest, size-written-len(rest), now, wake)
			written += taken
			mine = written < size
			s.writing = mine
		}
		if err != nil || written == size {
			if mine {
				s.writing = false
			}
			return written, c.done(&s.turn, wake, "write", err)
		}
		if mine {
			n.waitLocked(&s.writes, c.in.rst.at, now, !s.reverse.link.instant(), wake)
		} else {
			// Whatever ends the unfinished Write, such as a deadline, also ends this call.
			n.waitLocked(&s.turn, never, now, false, wake)
		}
		wake = wake[:0]
	}
}

// writeErrorLocked returns why a Write fails regardless of the room in the buffer.
func (c *Conn) writeErrorLocked(now int64) error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.out.writes.expired(now):
		return os.ErrDeadlineExceeded
	case c.out.fin.sent, c.in.rst.arrived(now) && c.in.fin.arrived(now):
		return os.NewSyscallError("write", syscall.EPIPE)
	case c.in.rst.arrived(now):
		return os.NewSyscallError("write", syscall.ECONNRESET)
	}
	return nil
}

// done ends a call: it wakes the next one, unlocks, and words the error.
func (c *Conn) done(w *waitPoint, wake []*waitPoint, op string, err error) error {
	c.network.unlock(w.passOn(wake))
	if c.network.observer != nil {
		c.network.observer()
	}
	if err == nil || err == io.EOF {
		return err
	}
	return c.opError(op, err)
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}

// Close ends both directions and all waiting calls. The peer reads what was
// written before, then io.EOF; what it writes from now on is answered with a reset.
func (c *Conn) Close() error {
	n := c.network
	n.mu.Lock()
	// Even the end of a crashed host may be closed, during cleanup.
	c.in.reads.abandoned, c.out.writes.abandoned = false, false
	if c.closed {
		n.unlock(c.wakeOwnLocked(nil))
		return c.opError("close", net.ErrClosed)
	}
	n.unlock(c.closeLocked(n.now(), nil))
	return nil
}

func (c *Conn) closeLocked(now int64, wake []*waitPoint) []*waitPoint {
	c.closed = true
	wake = c.out.finish(now, wake)
	c.in.receiver = gone
	if !c.in.segments.empty() {
		// These bytes are not delivered. TCP would send a reset instead of the FIN; here
		// the FIN comes first, so that the peer reads all that was sent to it.
		wake = c.out.reset(max(now, c.in.lastArrival), now, wake)
	}
	c.network.forgetLocked(c)
	return c.wakeOwnLocked(wake)
}

// wakeOwnLocked wakes the calls that wait at this end.
func (c *Conn) wakeOwnLocked(wake []*waitPoint) []*waitPoint {
	return c.out.writes.passOn(c.in.reads.passOn(wake))
}

// CloseWrite ends the outgoing direction: the peer reads what was written before, then io.EOF.
// Writes at this end fail with EPIPE.
func (c *Conn) CloseWrite() error {
	n := c.network
	n.mu.Lock()
	if c.closed {
		n.mu.Unlock()
		return c.opError("close", net.ErrClosed)
	}
	n.unlock(c.out.writes.passOn(c.out.finish(n.now(), nil)))
	return nil
}

// CloseRead ends the incoming direction: Reads at this end return io.EOF, and what the peer writes
// is discarded.
func (c *Conn) CloseRead() error {
	n := c.network
	n.mu.Lock()
	if c.closed {
		n.mu.Unlock()
		return c.opError("close", net.ErrClosed)
	}
	n.unlock(c.in.reads.passOn(c.in.discard(nil)))
	return nil
}

// LocalAddr returns the address of this end. A dialing end is named after its
// host, on unix networks too, where a real one has no name.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, &c.in.reads, &c.out.writes) }

// SetReadDeadline makes Reads fail with os.ErrDeadlineExceeded from t on, those
// that wait already included; the zero time lifts the deadline.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.in.reads) }

// SetWriteDeadline does for Writes what SetReadDeadline does for Reads. A Write
// that fails may have written a part.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.out.writes) }

func (c *Conn) setDeadlines(t time.Time, points ...*waitPoint) error {
	n := c.network
	n.mu.Lock()
	if c.closed {
		n.mu.Unlock()
		return c.opError("set", net.ErrClosed)
	}
	deadline := int64(never)
	if !t.IsZero() {
		deadline = int64(t.Sub(n.epoch))
	}
	wake := make([]*waitPoint, 0, 2)
	for _, w := range points {
		w.deadline = deadline
		wake = w.wakeAt(deadline, n.now(), wake)
	}
	n.unlock(wake)
	return nil
}
