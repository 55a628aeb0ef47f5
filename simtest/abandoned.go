package simtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// maxUnread is how long a client may leave an open watch unread, as one does whose handlers are slow.
const maxUnread = 2 * time.Minute

// abandoned says which watches clients have left open without reading them: whoever was to consume the events is gone, and the API server keeps
// such a watch, and what it sends, until the connection ends (kubernetes/kubernetes #131266).
func (c *Cluster) abandoned() (all []string) {
	sim.Aside(func() {
		r := c.recorded
		now := r.world.Now()
		for _, resource := range slices.Sorted(maps.Keys(r.resources)) {
			for _, w := range r.resources[resource].Abandoned(int64(now - maxUnread)) {
				if c.isOver(w.Client) {
					continue
				}
				at := func(ns int64) time.Duration { return (time.Duration(ns) - r.began).Round(time.Millisecond) }
				all = append(all, fmt.Sprintf("%s opened a watch of %s at %v, has read nothing from it since %v, and has not closed it: %s keeps it open for nobody",
					w.Client, resource, at(w.Opened), at(w.Read), w.Server))
			}
		}
	})
	return all
}

// isOver reports whether a session was that of a program in a life that has ended.
func (c *Cluster) isOver(session string) bool {
	return slices.ContainsFunc(c.programs, func(p *program) bool {
		client, _, _ := strings.Cut(session, " (life ")
		return client == p.name && (p.process == nil || session != c.session(p.name))
	})
}
