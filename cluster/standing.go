package cluster

import (
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

// standing records who led etcd and what the caches held over time. It looks whenever a message was
// read or written anywhere, within sim.Aside and without blocking, so that observing does not alter
// the run. If something is locked at that moment, it keeps the last value.
type standing struct {
	mu      sync.Mutex // never waited for: nobody is interrupted within sim.Aside
	leader  record[model.Leader]
	windows []record[model.CacheWindow] // of the servers, in their order
}

// record is a sequence of values, each with the moment from which it holds.
type record[T comparable] struct{ turns []turn[T] }

type turn[T comparable] struct {
	from time.Time
	what T
}

// note records the current value. The last one of an instant counts.
func (r *record[T]) note(now time.Time, what T) {
	last := len(r.turns) - 1
	switch {
	case last >= 0 && r.turns[last].what == what:
	case last >= 0 && r.turns[last].from.Equal(now):
		r.turns[last].what = what
	default:
		r.turns = append(r.turns, turn[T]{now, what})
	}
}

// between returns the values from one moment to another: the one at the beginning, and each change.
func (r *record[T]) between(began, end time.Time) (turns []turn[T]) {
	for _, next := range r.turns {
		if next.from.After(end) {
			break
		}
		if next.from.Before(began) {
			next.from = began
		}
		if last := len(turns) - 1; last >= 0 && turns[last].from.Equal(next.from) {
			turns = turns[:last]
		}
		if last := len(turns) - 1; last < 0 || turns[last].what != next.what {
			turns = append(turns, next)
		}
	}
	return turns
}

// look records changes.
func (c *Cluster) look() {
	sim.Aside(func() {
		c.standing.mu.Lock()
		defer c.standing.mu.Unlock()
		now := time.Now()
		c.lookForLeader(now)
		for i, server := range c.servers {
			c.lookAt(now, server, &c.standing.windows[i])
		}
	})
}

func (c *Cluster) lookForLeader(now time.Time) {
	leader, leaderless := model.Leader{}, 0
	for _, member := range c.members {
		seen := member.peek(func(running etcd.Running) {
			if term, leads := running.Leads(); leads && int64(term) > leader.Term {
				leader = model.Leader{Member: member.name, Term: int64(term)}
			}
			if running.Leaderless() {
				leaderless++
			}
		})
		if !seen {
			return
		}
	}
	leader.Leaderless = leaderless
	// A member knows its term once it has applied an entry of that term.
	turns := c.standing.leader.turns
	if last := len(turns) - 1; last >= 0 && turns[last].what.Member == leader.Member && turns[last].what.Leaderless == leaderless {
		turns[last].what = leader
		return
	}
	c.standing.leader.note(now, leader)
}

func (c *Cluster) lookAt(now time.Time, server *Server, record *record[model.CacheWindow]) {
	if !server.mu.TryLock() {
		return
	}
	defer server.mu.Unlock()
	window := model.CacheWindow{Server: server.name}
	if server.running != nil {
		windowed, can := server.running.server.(target.Windowed)
		if !can {
			return
		}
		filling, held, known := windowed.Window()
		if !known {
			return
		}
		window.Filling, window.Since, window.Newest = filling, held.Since, held.Newest
	} else if len(record.turns) == 0 {
		return // the source has not started yet
	}
	record.note(now, window)
}

// Standing returns who led etcd and what the caches held from began to end, with
// times in nanoseconds since began.
func (c *Cluster) Standing(began, end time.Time) (leaders []model.Leader, windows []model.CacheWindow) {
	sim.Aside(func() {
		c.standing.mu.Lock()
		defer c.standing.mu.Unlock()
		for _, turn := range c.standing.leader.between(began, end) {
			turn.what.Time = int64(turn.from.Sub(began))
			leaders = append(leaders, turn.what)
		}
		for i := range c.standing.windows {
			for _, turn := range c.standing.windows[i].between(began, end) {
				turn.what.Time = int64(turn.from.Sub(began))
				windows = append(windows, turn.what)
			}
		}
	})
	return leaders, windows
}
