package simnet

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// DialTimeout is when a dial gives up, as Linux does after six retransmissions.
	DialTimeout = 127 * time.Second

	// retransmitDial is the time until the first retransmission of a dial; it
	// doubles each time.
	retransmitDial = time.Second
)

// DialContext connects a host to an address with a listener. It takes one round trip.
//
// It fails with ECONNREFUSED if there is no listener or the host refuses, with ETIMEDOUT
// after DialTimeout if the way there or back stays blocked, and with the context's error if
// that comes first; each wrapped in a *net.OpError.
func (n *Network) DialContext(ctx context.Context, fromHost, network, address string) (net.Conn, error) {
	name, ok := canonical(network)
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(network)}
	}
	d := n.newDial(fromHost, name, address)
	conn, err := d.run(ctx)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: name, Addr: makeAddr(name, d.key.address), Err: err}
	}
	return conn, nil
}

// dial is one attempt to connect, with its retransmissions.
type dial struct {
	network *Network
	from    *host
	key     endpoint
}

func (n *Network) newDial(fromHost, network, address string) *dial {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stats.Dials++
	from := n.hostLocked(fromHost)
	return &dial{network: n, from: from, key: endpoint{network, qualify(from, network, address)}}
}

// outcome is what happened to one SYN segment.
type outcome int

const (
	unanswered outcome = iota // sent into a partition, or onto a full backlog
	refused
	connected
)

func (d *dial) run(ctx context.Context) (*Conn, error) {
	n := d.network
	begin := time.Now()
	patience, next := retransmitDial, retransmitDial
	for {
		if err := ctx.Err(); err != nil {
			return nil, n.timedOut(err)
		}
		trip, passes := d.roundTrip()
		if passes {
			if err := sleep(ctx, trip); err != nil {
				return nil, n.timedOut(err)
			}
			switch conn, result := d.connect(); result {
			case connected:
				return conn, nil
			case refused:
				return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
			}
		}
		if err := sleep(ctx, min(next, DialTimeout)-time.Since(begin)); err != nil {
			return nil, n.timedOut(err)
		}
		if time.Since(begin) >= DialTimeout {
			return nil, n.timedOut(os.NewSyscallError("connect", syscall.ETIMEDOUT))
		}
		patience *= 2
		next += patience
	}
}

// roundTrip draws how long the way there and back takes, and reports whether the way there
// is open; the way back is checked when the answer is due. There is no way to an address
// that never existed.
func (d *dial) roundTrip() (trip time.Duration, passes bool) {
	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.endpoints[d.key]
	if s == nil {
		return 0, true
	}
	forth, back := n.linkLocked(d.from, s.host), n.linkLocked(s.host, d.from)
	if forth.blocked() {
		return 0, false
	}
	now := n.now()
	return time.Duration(back.arrival(0, forth.arrival(0, now)) - now), true
}

// connect makes the connection, if the answer gets through and is positive.
func (d *dial) connect() (*Conn, outcome) {
	n := d.network
	n.mu.Lock()
	s := n.endpoints[d.key]
	if s != nil && (n.linkLocked(d.from, s.host).blocked() || n.linkLocked(s.host, d.from).blocked()) {
		n.mu.Unlock()
		return nil, unanswered
	}
	if s == nil || s.listener == nil || s.host.refusing {
		n.stats.Refused++
		n.mu.Unlock()
		return nil, refused
	}
	l := s.listener
	if len(l.backlog) >= AcceptBacklog {
		n.mu.Unlock()
		return nil, unanswered
	}
	local := makeAddr(d.key.network, d.from.name+":"+d.from.assignPort())
	dialing, accepting := n.connectLocked(d.from, s.host, local, l.addr)
	l.backlog = append(l.backlog, accepting)
	n.unlock(l.accepts.passOn(nil))
	return dialing, connected
}

// timedOut counts an abandoned dial, and returns the reason.
func (n *Network) timedOut(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stats.TimedOut++
	return err
}

// sleep waits for d, or fails with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
