package controlplane

import (
	"context"
	"time"
)

// switchOff cuts the power of a node: its containers end at once, and its kubelet does nothing until
// back or switchOn is called. If a node is switched off twice, only the second back has an effect.
func (n *Node) switchOff() (back func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.off != nil {
		close(n.off) // whoever waits for the end of that outage then waits for this one
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

// switchOn restores the power of a node. Containers whose pods were not deleted restart, or have
// failed if their restart policy forbids it.
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

// power waits until the node has power, and returns a context that is done when power fails again.
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
