package controlplane

import (
	"fmt"
	"slices"
	"time"
)

// Twins says of which pods of stateful sets two have run at the same time, on whatever nodes: a
// stateful set promises that at most one pod with a given identity does
// (kubernetes.io/docs/tasks/run-application/force-delete-stateful-set-pod). It must be called when
// nothing runs any more.
func (p *Plane) Twins() (broken []string) {
	var all []*containers
	for _, node := range p.nodes {
		all = append(all, node.ran...)
	}
	slices.SortStableFunc(all, func(a, b *containers) int { return a.began.Compare(b.began) })
	last := map[string]*containers{}
	for _, c := range all {
		if c.kind != "StatefulSet" {
			continue
		}
		before := last[c.pod.String()]
		if last[c.pod.String()] = c; before == nil || before.uid == c.uid {
			continue
		}
		if end, over := before.over(); !over || end.After(c.began) {
			text := "still ran"
			if over {
				text = fmt.Sprintf("ran on for %v", end.Sub(c.began).Round(time.Millisecond))
			}
			broken = append(broken, fmt.Sprintf("AtMostOne is broken: pod %s began with UID %s on %s while %s of the same name %s on %s", c.pod, c.uid, c.node, before.uid, text, before.node))
		}
	}
	return broken
}
