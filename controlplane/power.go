package controlplane

import (
	"context"
	"time"
)

// switchOff takes the power from a node: what runs there ends at once, and the kubelet does nothing more until
// back is called, or switchOn. Of two that have switched a node off, the second says when it is back.
func (n *Node) switchOff() (back func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.off != nil {
		close(n.off) // who waits for the end of that outage waits for this one
	}
	off := make(chan struct{})
	if n.off = off; n.cut != nil {
		n.cut()
	}
	now := time.Now()
	for _, c := range n.ran {
		if end, over := c.over(); !over || end.After(now) {
			c.gone, c.lost = now, true
		}
	}
	return func() { n.endOutage(off) }
}

// switchOn gives a node its power back. What ran there and has not been deleted begins again, or has
// failed if its pod says that it must not.
func (n *Node) switchOn() {
	n.mu.Lock()
	off := n.off
	n.mu.Unlock()
	n.endOutage(off)
}

// endOutage ends an outage unless another one has followed it.
func (n *Node) endOutage(off chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if off != nil && n.off == off {
		close(off)
		n.off = nil
	}
}

func (n *Node) isOff() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.off != nil
}

// power waits until there is some, and returns a context that is done when it fails again.
func (n *Node) power(ctx context.Context) (on context.Context, cut context.CancelFunc) {
	for {
		n.mu.Lock()
		off := n.off
		if off == nil {
			on, n.cut = context.WithCancel(ctx)
			defer n.mu.Unlock()
			return on, n.cut
		}
		n.mu.Unlock()
		select {
		case <-off:
		case <-ctx.Done():
			return context.WithCancel(ctx)
		}
	}
}
