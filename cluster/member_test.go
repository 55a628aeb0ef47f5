package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

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
