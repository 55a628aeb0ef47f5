package etcd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// patience bounds every wait of these tests, far above what they take.
const patience = 30 * time.Second

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// enterTempDir changes to a new folder, where the members' sockets are created.
func enterTempDir(t testing.TB) string {
	dir := t.TempDir()
	t.Chdir(dir)
	return dir
}

// CurrentRelease is that of package current. An external test sets it, as package current
// imports this one.
var CurrentRelease Release

// testConfig has timings that suit a real clock.
func testConfig(name, dir string, cluster ...string) Config {
	return Config{
		Release: CurrentRelease,
		Name:    name,
		Dir:     dir,
		Cluster: cluster,
		Tuning:  Tuning{Tick: 5 * time.Millisecond},
	}
}

func startMember(t testing.TB, config Config) *Member {
	member, err := Start(config)
	require.NoError(t, err)
	t.Cleanup(member.Stop)
	return member.(*Member)
}

func waitReady(t testing.TB, member *Member) {
	select {
	case <-member.Ready():
	case <-time.After(patience):
		require.FailNow(t, "the member never became ready", member.name)
	}
}

func connect(t testing.TB, names ...string) *clientv3.Client {
	var endpoints []string
	for _, name := range names {
		endpoints = append(endpoints, ClientURL(name))
	}
	client, err := NewClient(endpoints...)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// startSingle boots a single-member cluster in a new folder, with changes to its configuration.
func startSingle(t testing.TB, changes ...func(*Config)) (member *Member, client *clientv3.Client, dir string) {
	dir = filepath.Join(enterTempDir(t), "data")
	config := testConfig("etcd-0", dir, "etcd-0")
	for _, change := range changes {
		change(&config)
	}
	member = startMember(t, config)
	waitReady(t, member)
	return member, connect(t, "etcd-0"), dir
}

func put(t testing.TB, client *clientv3.Client, key, value string) int64 {
	response, err := client.Put(testContext(t), key, value)
	require.NoError(t, err)
	return response.Header.Revision
}

func leads(member *Member) bool {
	_, leads := member.Leads()
	return leads
}

func TestMemberServesAndOperates(t *testing.T) {
	member, client, _ := startSingle(t)
	ctx := testContext(t)

	require.EqualValues(t, 2, put(t, client, "/a", "1"))
	require.EqualValues(t, 3, put(t, client, "/a", "2"))
	require.EqualValues(t, 3, member.Revision())
	require.True(t, leads(member))
	require.False(t, member.Leaderless())

	require.NoError(t, member.Compact(ctx, 3))
	_, err := client.KV.Get(ctx, "/a", clientv3.WithRev(2))
	require.ErrorContains(t, err, "compacted")
	require.ErrorContains(t, member.Compact(ctx, 3), "compacted")
	require.ErrorContains(t, member.Compact(ctx, 9), "future")
	require.NoError(t, member.Defragment())

	response, err := client.KV.Get(ctx, "/a")
	require.NoError(t, err)
	require.Equal(t, "2", string(response.Kvs[0].Value))
}

// A member whose database has reached its quota rejects writes until its history is compacted, the
// database defragmented, and the alarm cleared.
func TestAMemberIsFull(t *testing.T) {
	member, client, _ := startSingle(t, func(config *Config) {
		config.Tuning.QuotaBytes, config.Tuning.BatchInterval = 300<<10, time.Millisecond
	})
	ctx, value := testContext(t), strings.Repeat("x", 20<<10)
	require.False(t, member.Full())
	var err error
	for writes := 0; err == nil; writes++ {
		require.Less(t, writes, 100)
		_, err = client.Put(ctx, "/a", value)
	}
	require.ErrorIs(t, err, rpctypes.ErrNoSpace)
	require.True(t, member.Full())

	require.NoError(t, member.Compact(ctx, member.Revision()))
	require.Eventually(t, func() bool {
		require.NoError(t, member.Defragment())
		require.NoError(t, member.Disarm(ctx))
		require.False(t, member.Full())
		_, err := client.Put(ctx, "/a", value)
		return err == nil
	}, patience, time.Millisecond)
}

func TestStopAndRestartKeepTheData(t *testing.T) {
	first, client, dir := startSingle(t)
	put(t, client, "/a", "1")
	client.Close()
	first.Stop()
	first.Stop()

	second := startMember(t, testConfig("etcd-0", dir, "etcd-0"))
	waitReady(t, second)
	require.EqualValues(t, 3, put(t, connect(t, "etcd-0"), "/a", "2"))
}

func TestAMemberWithoutALeaderStops(t *testing.T) {
	member := startMember(t, testConfig("etcd-0", filepath.Join(enterTempDir(t), "data"), "etcd-0", "etcd-1"))
	require.True(t, member.Leaderless())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		member.Stop()
	}()
	select {
	case <-stopped:
	case <-time.After(patience):
		require.FailNow(t, "the stop never returned")
	}
}

// TestACrashedMemberGoesOnFromItsFolder crashes a simulated member. Its files, which are in memory,
// are never closed, and the next member finds them unchanged.
func TestACrashedMemberGoesOnFromItsFolder(t *testing.T) {
	isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(t testing.TB, world *sim.World) {
		config := testConfig("etcd-0", simdisk.Root+"/etcd-0", "etcd-0")
		var last int64
		live := func(puts int) *sim.Process {
			process := world.Process("etcd-0")
			process.Do(func() {
				member, err := Start(config)
				require.NoError(t, err)
				<-member.Ready()
			})
			world.Process("client").Do(func() {
				client, err := NewClient(ClientURL("etcd-0"))
				require.NoError(t, err)
				defer client.Close()
				for range puts {
					response, err := client.Put(context.Background(), "/a", "x")
					require.NoError(t, err)
					last = response.Header.Revision
				}
			})
			return process
		}
		live(20).Crash()
		require.EqualValues(t, 21, last)
		live(1)
		require.EqualValues(t, 22, last)
	})
}

func TestAMemberThatGivesUpWhileBooting(t *testing.T) {
	member, _, dir := startSingle(t)
	root := filepath.Dir(dir)
	member.Stop()

	// damage starts a member on a copy of the folder with one bit of the log flipped.
	// Each needs its own copy, because a dead member keeps its locks.
	damage := func(name string, config Config, offset func(content []byte) int) error {
		config.Dir = filepath.Join(root, name)
		require.NoError(t, os.CopyFS(config.Dir, os.DirFS(dir)))
		path := filepath.Join(config.Dir, "member/wal/0000000000000000-0000000000000000.wal")
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		content[offset(content)] ^= 1
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err = Start(config)
		return err
	}

	// etcd 3.7.0 panics on a log whose first record is unreadable.
	config := testConfig("etcd-0", "", "etcd-0")
	err := damage("first", config, func([]byte) int { return 20 })
	require.ErrorContains(t, err, `etcd member "etcd-0": gave up while booting`)

	// The position matters: no checksum covers some bits between records.
	err = damage("middle", config, func(content []byte) int {
		at := bytes.LastIndex(content, []byte("etcd-0"))
		require.Positive(t, at, "the member has published its name")
		return at
	})
	require.ErrorContains(t, err, "crc mismatch")
}

func TestAFatalLogMessageEndsItsGoroutineOnly(t *testing.T) {
	var reason error
	logger := zap.NewNop().WithOptions(zap.WithFatalHook(fatalHook{func(err error) { reason = err }}))
	survived := false
	var ended sync.WaitGroup
	ended.Go(func() {
		logger.Fatal("cannot go on", zap.Int("index", 3), zap.Error(errors.New("disk on fire")))
		survived = true
	})
	ended.Wait()
	require.False(t, survived)
	require.EqualError(t, reason, "cannot go on: disk on fire")

	settings, err := testConfig("etcd-0", "", "etcd-0").embedded(newWatchRegister(nil))
	require.NoError(t, err)
	require.NoError(t, settings.ZapLoggerBuilder(settings))
	require.PanicsWithValue(t, `etcd member "etcd-0" gave up: cannot go on`, func() {
		settings.GetLogger().Fatal("cannot go on")
	})
}

// A member that gives up because of a limit of the harness has no bug.
func TestAFullDiskIsNotTheFaultOfAMember(t *testing.T) {
	result := isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(t testing.TB, _ *sim.World) {
		path := simdisk.Root + "/file"
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.ErrorIs(t, os.Truncate(path, simdisk.FileMax+1), syscall.EFBIG)
		settings, err := testConfig("etcd-0", simdisk.Root+"/etcd-0", "etcd-0").embedded(newWatchRegister(nil))
		require.NoError(t, err)
		require.NoError(t, settings.ZapLoggerBuilder(settings))
		var ended sync.WaitGroup
		ended.Go(func() { settings.GetLogger().Fatal("cannot go on") })
		ended.Wait()
	})
	require.True(t, result.DiskFull)
}

// Members set deadlines on the connections between them, and clients do not.
func TestPatience(t *testing.T) {
	require.Equal(t, 5*time.Second, Patience(strings.TrimPrefix(PeerURL("etcd-0"), "unix://")))
	require.Zero(t, Patience(strings.TrimPrefix(ClientURL("etcd-0"), "unix://")))
}

func TestStartRejectsABadConfiguration(t *testing.T) {
	dir := enterTempDir(t)
	for name, config := range map[string]Config{
		"not in the cluster":      testConfig("etcd-9", dir, "etcd-0"),
		"name breaks the URL":     testConfig("etcd 0%zz", dir, "etcd-0"),
		"an election of a minute": {Release: CurrentRelease, Name: "etcd-0", Dir: dir, Cluster: []string{"etcd-0"}, Tuning: Tuning{Tick: 6 * time.Second}},
	} {
		_, err := Start(config)
		require.Error(t, err, name)
	}
}

func TestThreeMembersAgreeAndMoveTheirLeader(t *testing.T) {
	root := enterTempDir(t)
	names := []string{"etcd-0", "etcd-1", "etcd-2"}
	members := make([]*Member, len(names))
	var dirs []string
	errs := make([]error, len(names))
	var boot sync.WaitGroup
	for i, name := range names {
		dirs = append(dirs, filepath.Join(root, "data-"+name))
		config := testConfig(name, dirs[i], names...)
		config.Tuning.Tick = 20 * time.Millisecond
		boot.Go(func() {
			var started Running
			started, errs[i] = Start(config)
			members[i], _ = started.(*Member)
		})
	}
	boot.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, member := range members {
		t.Cleanup(member.Stop)
		waitReady(t, member)
	}
	client := connect(t, names...)
	put(t, client, "/r/a", "1")

	from := slices.IndexFunc(members, leads)
	to := (from + 1) % len(members)
	require.Error(t, members[from].MoveLeader(testContext(t), "nobody"))
	require.NoError(t, members[from].MoveLeader(testContext(t), names[to]))
	require.Eventually(t, func() bool { return leads(members[to]) }, patience, time.Millisecond)
	last := put(t, client, "/r/a", "2")

	truth := truthOf(t, dirs...)
	require.Equal(t, last, truth.Revision)
	require.Len(t, truth.Changes, 2)

	// One member's folder is enough for a single-member cluster, but not for a majority
	// of three.
	_, err := Truth(CurrentRelease, []Era{{Dirs: []string{dirs[0], root, root}}}, testPrefix, decodeRaw)
	require.ErrorContains(t, err, "no majority")
}
