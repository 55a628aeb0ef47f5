package etcd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/model"
)

const testPrefix = "/r/"

func decodeRaw(key string, value []byte) (model.Object, error) {
	return model.Object{Name: key, Value: string(value)}, nil
}

// truthOf returns what the members with those folders committed.
func truthOf(t require.TestingT, dirs ...string) model.Truth {
	truth, err := Truth(CurrentRelease, []Era{{Dirs: dirs}}, testPrefix, decodeRaw)
	require.NoError(t, err)
	return truth
}

// Truth must agree with etcd itself: with its watch, event by event, and with its
// ranges at every revision.
func TestTruthIsWhatEtcdSays(t *testing.T) {
	_, client, dir := startSingle(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		before, err := client.KV.Get(ctx, "x")
		require.NoError(t, err)
		start := before.Header.Revision
		events := client.Watch(clientv3.WithRequireLeader(ctx), testPrefix,
			clientv3.WithPrefix(), clientv3.WithRev(start+1), clientv3.WithCreatedNotify())
		<-events

		generator := operationGenerator{client: client, start: start}
		for range 2 {
			generator.grant(ctx)
		}
		for range rapid.IntRange(5, 25).Draw(t, "operations") {
			generator.run(ctx, t)
		}
		for member := range uint64(3) {
			generator.alarm(ctx, etcdserverpb.AlarmRequest_DEACTIVATE, member)
		}
		end, err := client.Put(ctx, testPrefix+"end", fmt.Sprint(start))
		require.NoError(t, err)

		truth := truthOf(t, dir)
		require.Equal(t, end.Header.Revision, truth.Revision)
		require.Equal(t, watched(t, events, end.Header.Revision), changesAfter(truth, start))

		kept := start
		for i, compaction := range truth.Compactions {
			kept = max(kept, compaction.RV)
			require.Equal(t, model.Pending, compaction.Time)
			require.True(t, i == 0 || truth.Compactions[i-1].RV < compaction.RV)
		}
		for revision := kept; revision <= truth.Revision; revision++ {
			response, err := client.KV.Get(ctx, testPrefix, clientv3.WithPrefix(), clientv3.WithRev(revision))
			require.NoError(t, err)
			stored := map[string]string{}
			for _, kv := range response.Kvs {
				stored[string(kv.Key)] = string(kv.Value)
			}
			require.Equal(t, stored, stateAt(truth, revision), revision)
		}
		if kept > start {
			_, err := client.KV.Get(ctx, "x", clientv3.WithRev(kept-1))
			require.ErrorContains(t, err, "compacted")
		}
	})
}

// watched reads a watch up to a revision.
func watched(t require.TestingT, events clientv3.WatchChan, until int64) []string {
	var all []string
	for response := range events {
		require.NoError(t, response.Err())
		for _, event := range response.Events {
			all = append(all, fmt.Sprintf("%d %v %s %s", event.Kv.ModRevision, event.Type == clientv3.EventTypeDelete, event.Kv.Key, event.Kv.Value))
		}
		if response.Header.Revision >= until && len(response.Events) > 0 &&
			response.Events[len(response.Events)-1].Kv.ModRevision == until {
			break
		}
	}
	return all
}

func changesAfter(truth model.Truth, revision int64) []string {
	var all []string
	for _, change := range truth.Changes {
		if change.RV > revision {
			value := change.Object.Value
			if change.Deleted {
				value = "" // in the truth a deletion carries the last state; etcd's event does not
			}
			all = append(all, fmt.Sprintf("%d %v %s %s", change.RV, change.Deleted, change.Object.Name, value))
		}
	}
	return all
}

func stateAt(truth model.Truth, revision int64) map[string]string {
	state := map[string]string{}
	for _, change := range truth.Changes {
		if change.RV > revision {
			break
		}
		if change.Deleted {
			delete(state, change.Object.Name)
		} else {
			state[change.Object.Name] = change.Object.Value
		}
	}
	return state
}

// operationGenerator issues random requests, including ones that etcd rejects.
type operationGenerator struct {
	client *clientv3.Client
	start  int64
	leases []clientv3.LeaseID
	// putKeys and deleteKeys are the keys that the next operations touch. A transaction
	// that both writes and deletes one key, by nesting, can crash etcd 3.7.0.
	putKeys, deleteKeys []string
}

var testKeys = []string{"/r/a", "/r/b", "/r/c", "/s/a", "/s/b"}

func (g *operationGenerator) run(ctx context.Context, t *rapid.T) {
	g.putKeys, g.deleteKeys = testKeys, testKeys
	kind := rapid.SampledFrom([]string{"put", "put", "delete", "txn", "txn", "txn", "revoke", "compact", "alarm", "disarm", "disarm"}).Draw(t, "kind")
	switch kind {
	case "put":
		g.client.Do(ctx, g.put(t))
	case "delete":
		g.client.Do(ctx, g.delete(t))
	case "txn":
		g.putKeys, g.deleteKeys = testKeys[:3], testKeys[3:]
		if rapid.Bool().Draw(t, "swap") {
			g.putKeys, g.deleteKeys = g.deleteKeys, g.putKeys
		}
		g.client.Do(ctx, g.transaction(t, 2))
	case "revoke":
		g.client.Revoke(ctx, g.lease(t))
		g.grant(ctx)
	case "compact":
		g.client.Compact(ctx, g.start+rapid.Int64Range(-3, 12).Draw(t, "compact at"))
	case "alarm", "disarm":
		action := etcdserverpb.AlarmRequest_DEACTIVATE
		if kind == "alarm" {
			action = etcdserverpb.AlarmRequest_ACTIVATE
		}
		g.alarm(ctx, action, rapid.Uint64Range(1, 2).Draw(t, "member"))
	}
}

// alarm raises or clears an alarm of a member for lack of space.
func (g *operationGenerator) alarm(ctx context.Context, action etcdserverpb.AlarmRequest_AlarmAction, member uint64) {
	request := &etcdserverpb.AlarmRequest{Action: action, MemberID: member, Alarm: etcdserverpb.AlarmType_NOSPACE}
	etcdserverpb.NewMaintenanceClient(g.client.ActiveConnection()).Alarm(ctx, request)
}

func (g *operationGenerator) grant(ctx context.Context) {
	if lease, err := g.client.Grant(ctx, 1000); err == nil {
		g.leases = append(g.leases, lease.ID)
	}
}

// lease returns no lease, an existing one, a revoked one, or one that never exists.
func (g *operationGenerator) lease(t *rapid.T) clientv3.LeaseID {
	return rapid.SampledFrom(append([]clientv3.LeaseID{0, 0, 4711}, g.leases...)).Draw(t, "lease")
}

func (g *operationGenerator) put(t *rapid.T) clientv3.Op {
	key := rapid.SampledFrom(g.putKeys).Draw(t, "key")
	switch rapid.IntRange(0, 5).Draw(t, "put") {
	case 0:
		return clientv3.OpPut(key, "", clientv3.WithIgnoreValue(), clientv3.WithLease(g.lease(t)))
	case 1:
		return clientv3.OpPut(key, g.value(t), clientv3.WithIgnoreLease())
	default:
		return clientv3.OpPut(key, g.value(t), clientv3.WithLease(g.lease(t)))
	}
}

func (g *operationGenerator) value(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "value")
}

func (g *operationGenerator) delete(t *rapid.T) clientv3.Op {
	key := rapid.SampledFrom(g.deleteKeys).Draw(t, "key")
	end := rapid.SampledFrom(g.deleteKeys).Draw(t, "end")
	switch rapid.IntRange(0, 9).Draw(t, "span") {
	case 0:
		return clientv3.OpDelete(key, clientv3.WithRange(end))
	case 1:
		return clientv3.OpDelete(key[:3], clientv3.WithPrefix())
	case 2:
		if key > testKeys[2] || len(g.putKeys) == len(testKeys) {
			return clientv3.OpDelete(key, clientv3.WithFromKey())
		}
	}
	return clientv3.OpDelete(key)
}

func (g *operationGenerator) transaction(t *rapid.T, depth int) clientv3.Op {
	var compares []clientv3.Cmp
	for range rapid.IntRange(0, 2).Draw(t, "compares") {
		compares = append(compares, g.compare(t))
	}
	return clientv3.OpTxn(compares, g.branch(t, depth), g.branch(t, depth))
}

func (g *operationGenerator) compare(t *rapid.T) clientv3.Cmp {
	key := rapid.SampledFrom(testKeys).Draw(t, "key")
	result := rapid.SampledFrom([]string{"=", "!=", "<", ">"}).Draw(t, "result")
	number := rapid.Int64Range(0, 3).Draw(t, "number")
	var compare clientv3.Cmp
	switch rapid.IntRange(0, 4).Draw(t, "target") {
	case 0:
		compare = clientv3.Compare(clientv3.Value(key), result, g.value(t))
	case 1:
		compare = clientv3.Compare(clientv3.Version(key), result, number)
	case 2:
		compare = clientv3.Compare(clientv3.ModRevision(key), result, g.start+number)
	case 3:
		compare = clientv3.Compare(clientv3.CreateRevision(key), result, min(number, 1)*(g.start+number))
	default:
		compare = clientv3.Compare(clientv3.LeaseValue(key), result, g.lease(t))
	}
	if rapid.IntRange(0, 4).Draw(t, "wide") == 0 {
		compare = compare.WithPrefix()
	}
	return compare
}

func (g *operationGenerator) branch(t *rapid.T, depth int) []clientv3.Op {
	var operations []clientv3.Op
	for range rapid.IntRange(0, 3).Draw(t, "branch") {
		switch rapid.IntRange(0, 5).Draw(t, "op") {
		case 0, 1, 2:
			operations = append(operations, g.put(t))
		case 3:
			operations = append(operations, g.delete(t))
		case 4:
			operations = append(operations, clientv3.OpGet("/r/a",
				clientv3.WithRev(max(0, g.start+rapid.Int64Range(-2, 8).Draw(t, "read at")))))
		default:
			if depth > 0 {
				operations = append(operations, g.transaction(t, depth-1))
			}
		}
	}
	return operations
}

func TestTruthKeepsTheLastStateOfADeletedObject(t *testing.T) {
	_, client, dir := startSingle(t)
	put(t, client, "/r/a", "1")
	put(t, client, "/r/a", "2")
	_, err := client.KV.Delete(testContext(t), "/r/a")
	require.NoError(t, err)

	truth := truthOf(t, dir)
	require.Equal(t, []model.Change{
		{RV: 2, Object: model.Object{Name: "/r/a", Value: "1", RV: 2}},
		{RV: 3, Object: model.Object{Name: "/r/a", Value: "2", RV: 3}},
		{RV: 4, Deleted: true, Object: model.Object{Name: "/r/a", Value: "2", RV: 4}},
	}, truth.Changes)
}

func TestTruthReportsWhatItCannotDecode(t *testing.T) {
	_, client, dir := startSingle(t)
	put(t, client, "/r/a", "1")
	_, err := Truth(CurrentRelease, []Era{{Dirs: []string{dir}}}, testPrefix, func(string, []byte) (model.Object, error) {
		return model.Object{}, fmt.Errorf("not a pod")
	})
	require.ErrorContains(t, err, "decode /r/a at revision 2: not a pod")
}

// A crash may truncate the last write at any disk sector. The rest must be read as a prefix of what
// was written.
func TestTruthOfALogWithATornTail(t *testing.T) {
	const sector = 512
	member, client, dir := startSingle(t)
	for i := range 50 {
		put(t, client, "/r/a", fmt.Sprintf("%0100d", i))
	}
	member.Stop()
	whole := truthOf(t, dir)
	require.Len(t, whole.Changes, 50)

	path := filepath.Join(dir, "member/wal/0000000000000000-0000000000000000.wal")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	lost := 0
	for cut := len(bytes.TrimRight(content, "\x00")) / sector * sector; cut > 4*sector; cut -= sector {
		torn := slices.Clone(content)
		clear(torn[cut:])
		require.NoError(t, os.WriteFile(path, torn, 0o600))
		truth := truthOf(t, dir)
		require.Equal(t, whole.Changes[:len(truth.Changes)], truth.Changes)
		require.GreaterOrEqual(t, 50-len(truth.Changes), lost)
		lost = 50 - len(truth.Changes)
	}
	require.Greater(t, lost, 30)
}

func TestTruthOfMembersThatNeverRan(t *testing.T) {
	require.Equal(t, model.Truth{Revision: 1}, truthOf(t, t.TempDir(), "missing"))
}

func TestReplayRefusesToGuess(t *testing.T) {
	for name, request := range map[string]*etcdserverpb.InternalRaftRequest{
		"corruption":     {Alarm: &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, Alarm: etcdserverpb.AlarmType_CORRUPT}},
		"authentication": {AuthEnable: &etcdserverpb.AuthEnableRequest{}},
	} {
		_, err := newStore().apply(request)
		require.ErrorContains(t, err, "not known", name)
	}
	for name, request := range map[string]*etcdserverpb.InternalRaftRequest{
		"alarm read":    {Alarm: &etcdserverpb.AlarmRequest{}},
		"alarm cleared": {Alarm: &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_DEACTIVATE}},
	} {
		_, err := newStore().apply(request)
		require.NoError(t, err, name)
	}
}

func BenchmarkTruth(b *testing.B) {
	_, client, dir := startSingle(b)
	for i := range 300 {
		_, err := client.Put(b.Context(), fmt.Sprintf("/r/%d", i%20), string(make([]byte, 300)))
		require.NoError(b, err)
	}
	for b.Loop() {
		truth := truthOf(b, dir)
		require.Len(b, truth.Changes, 300)
	}
}
