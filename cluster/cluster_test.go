package cluster

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// starting is a target that starts its servers with a function.
type starting struct {
	target.Target
	start func(target.ServerConfig) target.Server
}

func (s starting) Start(config target.ServerConfig) (target.Server, error) {
	return s.start(config), nil
}

// stopping is a server that only stops.
type stopping struct {
	target.Storage
	stop func()
}

func (s stopping) Stop() { s.stop() }

// simulated runs a cluster without members, with servers that a function starts.
func simulated(t *testing.T, servers int, exited func(string, int), start func(target.ServerConfig) target.Server, test func(testing.TB, *sim.World, *Cluster)) {
	isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(t testing.TB, world *sim.World) {
		c, err := Start(world, Config{Servers: servers, Target: starting{start: start}, Exited: exited})
		require.NoError(t, err)
		test(t, world, c)
	})
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
			lingering := func(target.ServerConfig) target.Server {
				return stopping{stop: func() { go time.Sleep(row.takes) }}
			}
			simulated(t, 1, nil, lingering, func(t testing.TB, _ *sim.World, c *Cluster) {
				began := time.Now()
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
	}
}

func TestAServerIsToldOfItsRestarts(t *testing.T) {
	var restarts []int
	counting := func(config target.ServerConfig) target.Server {
		restarts = append(restarts, config.Restarts)
		return stopping{stop: func() {}}
	}
	simulated(t, 2, nil, counting, func(t testing.TB, _ *sim.World, c *Cluster) {
		require.NoError(t, c.servers[1].Stop())
		require.NoError(t, c.servers[1].Start())
		require.NoError(t, c.servers[1].Crash())
		require.NoError(t, c.servers[1].Start())
		require.Equal(t, []int{0, 0, 1, 2}, restarts)
	})
}

func TestAServerThatExitsIsStartedAgain(t *testing.T) {
	lives, exits := 0, 0
	exiting := func(target.ServerConfig) target.Server {
		if lives++; lives == 1 {
			go func() {
				time.Sleep(5 * time.Second)
				os.Exit(255)
			}()
		}
		return stopping{stop: func() {}}
	}
	exited := func(server string, code int) {
		require.Equal(t, "apiserver-0", server)
		require.Equal(t, 255, code)
		exits++
	}
	simulated(t, 1, exited, exiting, func(t testing.TB, _ *sim.World, c *Cluster) {
		time.Sleep(6 * time.Second)
		require.False(t, c.Servers()[0].Up())
		time.Sleep(RestartDelay)
		require.True(t, c.Servers()[0].Up())
		require.Equal(t, 2, lives)
		require.Equal(t, 1, exits)
		require.NoError(t, c.Servers()[0].Stop())
	})
}

func TestACallWaitsUntilItReturns(t *testing.T) {
	slow := func(target.ServerConfig) target.Server { return stopping{stop: func() { time.Sleep(time.Minute) }} }
	simulated(t, 2, nil, slow, func(t testing.TB, world *sim.World, c *Cluster) {
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
}

func TestTheDiskOfAMemberThatHangsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, m := time.Now(), &Member{}
		m.awaitDisk()
		require.Zero(t, time.Since(began))

		m.hang(true)
		m.hang(true)
		time.AfterFunc(time.Second, func() { m.hang(false) })
		m.awaitDisk()
		require.Equal(t, time.Second, time.Since(began))

		m.hang(false)
		m.awaitDisk()
		require.Equal(t, time.Second, time.Since(began))
	})
}

// onlyEtcd is a target without servers.
type onlyEtcd struct{ target.Target }

func (onlyEtcd) Etcd() etcd.Release { return current.Release{} }

// A restore loses no acknowledged write, even if the member has not yet applied all of its log.
func TestARestoreLosesNoAcknowledgedWrite(t *testing.T) {
	isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(t testing.TB, world *sim.World) {
		c, err := Start(world, Config{Members: 1, Target: onlyEtcd{}})
		require.NoError(t, err)
		member := c.Members()[0]
		asking := func(ask func(*clientv3.Client) error) {
			world.Process("client").Do(func() {
				client, err := etcd.NewClient(etcd.ClientURL(member.Name()))
				require.NoError(t, err)
				defer client.Close()
				require.NoError(t, ask(client))
			})
		}
		asking(func(client *clientv3.Client) error {
			_, err := client.Put(context.Background(), "/a", "acknowledged")
			return err
		})
		require.NoError(t, member.Crash())
		require.NoError(t, member.Start())
		require.NoError(t, member.Restore(0), "it has no leader yet")
		asking(func(client *clientv3.Client) error {
			found, err := client.Get(context.Background(), "/a")
			require.Len(t, found.Kvs, 1)
			return err
		})
	})
}

func TestARecordHoldsChanges(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	type step struct {
		at   int
		what string
	}
	for name, row := range map[string]struct{ noted, want []step }{
		"nothing":                     {nil, nil},
		"what does not change":        {[]step{{1, "a"}, {2, "a"}, {3, "a"}}, []step{{1, "a"}}},
		"what changes":                {[]step{{1, "a"}, {2, "b"}, {3, "a"}}, []step{{1, "a"}, {2, "b"}, {3, "a"}}},
		"the end of an instant":       {[]step{{1, "a"}, {2, "b"}, {2, "c"}}, []step{{1, "a"}, {2, "c"}}},
		"an instant that changes nil": {[]step{{1, "a"}, {2, "b"}, {2, "a"}, {3, "c"}}, []step{{1, "a"}, {3, "c"}}},
		"before the beginning":        {[]step{{-9, "a"}, {-5, "b"}, {4, "c"}}, []step{{0, "b"}, {4, "c"}}},
		"at the beginning":            {[]step{{-9, "a"}, {0, "b"}}, []step{{0, "b"}}},
		"after the end":               {[]step{{1, "a"}, {10, "b"}, {11, "c"}}, []step{{1, "a"}, {10, "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var r record[string]
			for _, step := range row.noted {
				r.note(at(step.at), step.what)
			}
			var got []step
			for _, turn := range r.between(began, at(10)) {
				got = append(got, step{int(turn.from.Sub(began) / time.Second), turn.what})
			}
			require.Equal(t, row.want, got)
		})
	}
}
