package etcd

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/model"
)

// TestTruthGoesOnAfterARestore restores a real member with and without a bump, and
// compares the truth with etcd's own answers.
func TestTruthGoesOnAfterARestore(t *testing.T) {
	root := enterTempDir(t)
	config := testConfig("etcd-0", filepath.Join(root, "first"), "etcd-0")
	var eras []Era
	era := Era{Dirs: []string{config.Dir}}
	restore := func(dir string, bump int64) {
		from := config.Dir
		config.Dir = filepath.Join(root, dir)
		restored, err := Restore(config, from, bump)
		require.NoError(t, err)
		era.Applied = restored.Applied
		eras = append(eras, era)
		era = Era{Dirs: []string{config.Dir}, Revision: restored.Revision}
	}
	live := func(do func(*clientv3.Client)) {
		member, err := Start(config)
		require.NoError(t, err)
		defer member.Stop()
		waitReady(t, member.(*Member))
		do(connect(t, "etcd-0"))
	}

	live(func(client *clientv3.Client) {
		put(t, client, "/r/a", "1")
		require.EqualValues(t, 3, put(t, client, "/r/b", "1"))
	})
	restore("same", 0)
	live(func(client *clientv3.Client) {
		require.EqualValues(t, 4, put(t, client, "/r/a", "2"), "the revision goes on")
		first := <-client.Watch(testContext(t), "/r/", clientv3.WithPrefix(), clientv3.WithRev(2))
		require.Len(t, first.Events, 3, "the history is kept")
	})
	restore("raised", 1000)
	live(func(client *clientv3.Client) {
		require.EqualValues(t, 1005, put(t, client, "/r/a", "3"), "the revision is raised")
		first := <-client.Watch(testContext(t), "/r/", clientv3.WithPrefix(), clientv3.WithRev(4))
		require.ErrorIs(t, first.Err(), rpctypes.ErrCompacted, "the history is gone")
		found, err := client.Get(testContext(t), "/r/b")
		require.NoError(t, err)
		require.EqualValues(t, 3, found.Kvs[0].ModRevision)
	})

	truth, err := Truth(CurrentRelease, append(eras, era), "/r/", decodeRaw)
	require.NoError(t, err)
	var revisions []int64
	for _, change := range truth.Changes {
		revisions = append(revisions, change.RV)
	}
	require.Equal(t, []int64{2, 3, 4, 1005}, revisions)
	require.Equal(t, int64(1005), truth.Revision)
	require.Equal(t, []model.Compaction{{RV: 1004, Time: model.Pending}}, truth.Compactions)
}

// TestTruthLeavesOutWhatARestoreDidNotTakeOver truncates the log of an era, like a
// member that stops before it has applied an entry.
func TestTruthLeavesOutWhatARestoreDidNotTakeOver(t *testing.T) {
	member, client, dir := startSingle(t)
	put(t, client, "/r/a", "1")
	put(t, client, "/r/a", "2")
	member.Stop()
	log, err := CurrentRelease.ReadLog(dir)
	require.NoError(t, err)

	truth, err := Truth(CurrentRelease, []Era{{Dirs: []string{dir}, Applied: uint64(len(log.Entries)) - 1}}, "/r/", decodeRaw)
	require.NoError(t, err)
	require.Len(t, truth.Changes, 1)
}
