package simnet

import (
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
)

// AcceptBacklog is how many connections can wait for Accept, as bounded by Linux' SOMAXCONN. A dial
// that finds the backlog full retries later.
const AcceptBacklog = 4096

// Listener accepts connections to one address.
type Listener struct {
	network *Network
	host    *host
	key     endpoint
	addr    net.Addr

	accepts waitPoint
	backlog []*Conn // accepting ends
	closed  bool
}

var _ net.Listener = (*Listener)(nil)

// Listen makes a host listen on an address of network "tcp" or "unix". An address is a name:
// dialing that name reaches this listener, so two hosts cannot listen on the same one. In a TCP
// address that is only a port or one of the loopback, the host's name stands for the machine; port
// 0 gets a number that no other listener has.
//
// It fails with EADDRINUSE if the address has a listener already, and with
// net.UnknownNetworkError for other networks.
func (n *Network) Listen(host, network, address string) (net.Listener, error) {
	name, ok := canonical(network)
	if !ok {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hostLocked(host)
	key := endpoint{name, qualify(h, name, address)}
	if base, zero := strings.CutSuffix(key.address, ":0"); zero && name == "tcp" {
		for zero {
			key.address = base + ":" + h.assignPort()
			_, zero = n.endpoints[key]
		}
	}
	s := n.endpoints[key]
	if s != nil && s.listener != nil {
		return nil, &net.OpError{Op: "listen", Net: name, Addr: makeAddr(name, key.address), Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &Listener{network: n, host: h, key: key, addr: makeAddr(name, asGiven(address, key.address)), accepts: newWaitPoint()}
	n.endpoints[key] = &service{host: h, listener: l}
	h.listeners = append(h.listeners, l)
	return l, nil
}

// Accept waits for the next connection, in the order in which they were made.
// It fails with net.ErrClosed once the listener is closed.
func (l *Listener) Accept() (net.Conn, error) {
	n := l.network
	n.mu.Lock()
	for {
		switch {
		case l.closed:
			n.unlock(l.accepts.passOn(nil))
			return nil, l.opError("accept")
		case len(l.backlog) > 0:
			c := l.backlog[0]
			l.backlog = slices.Delete(l.backlog, 0, 1)
			n.unlock(l.accepts.passOn(nil))
			return c, nil
		}
		n.waitLocked(&l.accepts, never, n.now(), false, nil)
	}
}

// Close stops listening. Connections that were not accepted yet are reset.
func (l *Listener) Close() error {
	n := l.network
	n.mu.Lock()
	if l.closed {
		n.unlock(l.accepts.passOn(nil))
		return l.opError("close")
	}
	l.closeLocked()
	now := n.now()
	wake := l.accepts.passOn(nil)
	for _, c := range l.backlog {
		wake = c.out.reset(now, now, wake)
		wake = c.closeLocked(now, wake)
	}
	l.backlog = nil
	n.unlock(wake)
	return nil
}

// closeLocked frees the address.
func (l *Listener) closeLocked() {
	l.closed = true
	l.network.endpoints[l.key].listener = nil
	l.host.listeners = slices.DeleteFunc(l.host.listeners, func(other *Listener) bool { return other == l })
}

// Addr returns the address to dial.
func (l *Listener) Addr() net.Addr { return l.addr }

func (l *Listener) opError(op string) error {
	return &net.OpError{Op: op, Net: l.key.network, Addr: l.addr, Err: net.ErrClosed}
}
