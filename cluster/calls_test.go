package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

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
