package cluster

import (
	"math/bits"
	"time"

	"github.com/watchsim/watchsim/model"
)

// Phase is the state of a server and its cache, coarse enough to recur at other instants and in
// other runs.
type Phase struct {
	Server string
	// Up reports whether it serves, and Led whether etcd has a leader.
	Up, Led bool
	// Filled is how often its cache has been filled since the server started, up to 2, and Fresh
	// whether that has changed within the last second.
	Filled int
	Fresh  bool
	// Behind is how far the cache is behind the newest known revision, and Window how many changes
	// it can serve: 0, 1, or 2 for more.
	Behind, Window int
	// Compacted is where the last compaction is: 0 below the window, 1 within, 2 beyond.
	Compacted int
}

// maxFresh is how long a refill is fresh.
const maxFresh = time.Second

// Phases returns the servers' phases, in a world that is paused at an instant since it began, given
// the newest revision that clients have seen. It does not block: for locked state it returns the
// last known value.
func (c *Cluster) Phases(at time.Duration, newest int64) []Phase {
	var compacted int64
	if c.mu.TryLock() {
		for revision := range c.compactions {
			compacted = max(compacted, revision)
		}
		c.mu.Unlock()
	}
	led := false
	if turns := c.standing.leader.turns; len(turns) > 0 {
		led = turns[len(turns)-1].what.Member != ""
	}
	windows := make([]model.CacheWindow, len(c.servers))
	phases := make([]Phase, len(c.servers))
	for i, server := range c.servers {
		phases[i] = Phase{Server: server.name, Led: led}
		if server.mu.TryLock() {
			phases[i].Up = server.running != nil
			server.mu.Unlock()
		}
		for _, turn := range c.standing.windows[i].turns {
			if turn.what.Filling != windows[i].Filling {
				phases[i].Fresh = c.world.At(turn.from) > at-maxFresh
			}
			windows[i] = turn.what
		}
		newest = max(newest, windows[i].Newest)
	}
	for i, held := range windows {
		if held.Filling == 0 {
			continue
		}
		p := &phases[i]
		p.Filled = min(held.Filling, 2)
		p.Behind, p.Window = coarse(newest-held.Newest), coarse(held.Newest-held.Since)
		switch {
		case compacted > held.Newest:
			p.Compacted = 2
		case compacted > held.Since:
			p.Compacted = 1
		}
	}
	return phases
}

// coarse returns 0 for nothing, 1 for 1, and 2 for more.
func coarse(changes int64) int { return min(bits.Len64(uint64(max(changes, 0))), 2) }
