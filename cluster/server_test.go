package cluster

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// lingering is a target whose servers leave a goroutine behind that takes so long.
type lingering struct {
	target.Target
	takes time.Duration
}

func (l lingering) Start(target.ServerConfig) (target.Server, error) {
	return lingeringServer{takes: l.takes}, nil
}

type lingeringServer struct {
	target.Storage
	takes time.Duration
}

func (s lingeringServer) Stop() {
	go time.Sleep(s.takes)
}

func TestAStoppedServerHasTimeToEndItsReads(t *testing.T) {
	for _, row := range []struct {
		name  string
		takes time.Duration
		left  bool
		count int
	}{
		{"nothing lingers", 0, true, 0},
		{"a read sleeps out its timeout", 3 * time.Second, true, 0},
		{"a goroutine lingers for good", time.Hour, true, 1},
		{"clients that are there have reads under way", 3 * time.Second, false, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			isolate.Isolated(t, func(t testing.TB) {
				isolate.InPlace(t, sim.Config{Source: sim.FromSeed(1)}, func(world *sim.World) {
					began := time.Now()
					c, err := Start(world, Config{Servers: 1, Target: lingering{takes: row.takes}})
					require.NoError(t, err)
					if row.left {
						c.CountOnce(model.Left)
					}
					require.NoError(t, c.servers[0].Stop())
					censuses := c.Censuses(began)
					last := censuses[len(censuses)-1]
					require.Equal(t, model.Stopped, last.Phase)
					require.Equal(t, row.count, last.Goroutines)
				})
			})
		})
	}
}

// counting is a target that counts how often it is told that its servers had been started.
type counting struct {
	target.Target
	restarts []int
}

func (c *counting) Start(config target.ServerConfig) (target.Server, error) {
	c.restarts = append(c.restarts, config.Restarts)
	return lingeringServer{}, nil
}

func TestAServerIsToldOfItsRestarts(t *testing.T) {
	isolate.Isolated(t, func(t testing.TB) {
		isolate.InPlace(t, sim.Config{Source: sim.FromSeed(1)}, func(world *sim.World) {
			starts := &counting{}
			c, err := Start(world, Config{Servers: 2, Target: starts})
			require.NoError(t, err)
			require.NoError(t, c.servers[1].Stop())
			require.NoError(t, c.servers[1].Start())
			require.NoError(t, c.servers[1].Crash())
			require.NoError(t, c.servers[1].Start())
			require.Equal(t, []int{0, 0, 1, 2}, starts.restarts)
		})
	})
}

// exiting is a target whose server exits in its first life.
type exiting struct {
	target.Target
	lives *int
}

func (e exiting) Start(target.ServerConfig) (target.Server, error) {
	if *e.lives++; *e.lives == 1 {
		go func() {
			time.Sleep(5 * time.Second)
			os.Exit(255)
		}()
	}
	return lingeringServer{}, nil
}

func TestAServerThatExitsIsStartedAgain(t *testing.T) {
	isolate.Isolated(t, func(t testing.TB) {
		isolate.InPlace(t, sim.Config{Source: sim.FromSeed(1)}, func(world *sim.World) {
			lives, exits := 0, 0
			c, err := Start(world, Config{Servers: 1, Target: exiting{lives: &lives}, Exited: func(server string, code int) {
				require.Equal(t, "apiserver-0", server)
				require.Equal(t, 255, code)
				exits++
			}})
			require.NoError(t, err)
			time.Sleep(6 * time.Second)
			require.False(t, c.Servers()[0].Up())
			time.Sleep(RestartDelay)
			require.True(t, c.Servers()[0].Up())
			require.Equal(t, 2, lives)
			require.Equal(t, 1, exits)
			require.NoError(t, c.Servers()[0].Stop())
		})
	})
}

// slowToStop is a target whose servers take so long to stop.
type slowToStop struct {
	target.Target
	takes time.Duration
}

func (s slowToStop) Start(target.ServerConfig) (target.Server, error) {
	return slowServer{takes: s.takes}, nil
}

type slowServer struct {
	target.Storage
	takes time.Duration
}

func (s slowServer) Stop() { time.Sleep(s.takes) }

func TestACallWaitsUntilItReturns(t *testing.T) {
	isolate.Isolated(t, func(t testing.TB) {
		isolate.InPlace(t, sim.Config{Source: sim.FromSeed(1)}, func(world *sim.World) {
			c, err := Start(world, Config{Servers: 2, Target: slowToStop{takes: time.Minute}})
			require.NoError(t, err)
			require.Empty(t, c.Waiting())
			began := world.Now()
			for _, server := range c.servers {
				go func() { _ = server.Stop() }()
				time.Sleep(time.Second)
			}
			first, second := Call{"the stop", "apiserver-0", began}, Call{"the stop", "apiserver-1", began + time.Second}
			require.Equal(t, []Call{first, second}, c.Waiting())
			time.Sleep(58*time.Second + time.Millisecond)
			require.Equal(t, []Call{second}, c.Waiting())
			require.NoError(t, c.servers[1].Crash())
			time.Sleep(time.Millisecond)
			require.Empty(t, c.Waiting(), "a process that has crashed does nothing any more")
		})
	})
}
