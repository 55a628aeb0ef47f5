package cluster

import (
	"math/bits"

	"github.com/watchsim/watchsim/model"
)

// Phase is what a server's cache is at, coarsely: what it has in common with the same
// cache at another time, and in other runs.
type Phase struct {
	// Up is whether the server runs, and Filled how often its cache has been filled with
	// a list, up to 3; 0 while nothing can be read of it.
	Up     bool
	Filled int
	// Behind is how far it is behind the newest cache, and Window how many changes it can
	// serve, in powers of two.
	Behind, Window int
	// Compacted is where the last compaction lies: 0 below the window, 1 within, 2
	// beyond it.
	Compacted int
	// Streams is how many watches of clients it serves, in powers of two.
	Streams int
	// Leader is the etcd member that leads, "" if none does.
	Leader string
}

// filledMax is how many fillings of a cache are told apart.
const filledMax = 3

// Phases are those of the servers. It may be called while the world stands still, and
// waits for nothing: of what somebody has locked it tells what was so last.
func (c *Cluster) Phases() []Phase {
	var newest, compacted int64
	windows := make([]model.CacheWindow, len(c.servers))
	for i := range c.standing.windows {
		if turns := c.standing.windows[i].turns; len(turns) > 0 {
			windows[i] = turns[len(turns)-1].what
			newest = max(newest, windows[i].Newest)
		}
	}
	if c.mu.TryLock() {
		for revision := range c.compactions {
			compacted = max(compacted, revision)
		}
		c.mu.Unlock()
	}
	leader := ""
	if turns := c.standing.leader.turns; len(turns) > 0 {
		leader = turns[len(turns)-1].what.Member
	}
	phases := make([]Phase, len(c.servers))
	for i, server := range c.servers {
		held, p := windows[i], &phases[i]
		p.Leader = leader
		p.Filled = min(held.Filling, filledMax)
		p.Behind, p.Window = bits.Len64(uint64(newest-held.Newest)), bits.Len64(uint64(held.Newest-held.Since))
		switch {
		case compacted > held.Newest:
			p.Compacted = 2
		case compacted > held.Since:
			p.Compacted = 1
		}
		if server.mu.TryLock() {
			p.Up = server.running != nil
			if p.Up && server.running.mu.TryLock() {
				p.Streams = bits.Len(uint(server.running.streams))
				server.running.mu.Unlock()
			}
			server.mu.Unlock()
		}
	}
	return phases
}
