package etcd

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

type request = etcdserverpb.InternalRaftRequest

func putRequest(key, value string, lease int64) *request {
	return &request{Put: &etcdserverpb.PutRequest{Key: []byte(key), Value: []byte(value), Lease: lease}}
}

// replay applies requests to an empty store and returns the effect of the last.
func replay(t *testing.T, requests ...*request) (*store, effect) {
	store := newStore()
	var last effect
	for _, request := range requests {
		var err error
		last, err = store.apply(request)
		require.NoError(t, err)
	}
	return store, last
}

// Members must delete the keys of a lease in the same order, and a key belongs to the
// lease of its last put.
func TestReplayRevokesALeaseInOrder(t *testing.T) {
	grant := func(id int64) *request { return &request{LeaseGrant: &etcdserverpb.LeaseGrantRequest{ID: id, TTL: 60}} }
	store, revoked := replay(t, grant(1), grant(2),
		putRequest("d", "", 1), putRequest("b", "", 1), putRequest("a", "", 1), putRequest("c", "", 1),
		putRequest("e", "", 1), putRequest("f", "", 1), putRequest("g", "", 1), putRequest("h", "", 2),
		putRequest("c", "", 2), putRequest("e", "", 0),
		&request{LeaseRevoke: &etcdserverpb.LeaseRevokeRequest{ID: 1}})
	require.Equal(t, []write{
		{key: "a", deleted: true, expired: true}, {key: "b", deleted: true, expired: true}, {key: "d", deleted: true, expired: true},
		{key: "f", deleted: true, expired: true}, {key: "g", deleted: true, expired: true},
	}, revoked.changes)
	require.EqualValues(t, 12, store.revision, "ten puts have a revision each, the deletions have one together")

	_, refused := replay(t, grant(1), &request{LeaseRevoke: &etcdserverpb.LeaseRevokeRequest{ID: 1}}, putRequest("a", "", 1))
	require.Empty(t, refused.changes)
}

// A put can keep the value or the lease of an existing key.
func TestReplayKeepsWhatAPutIgnores(t *testing.T) {
	grant := &request{LeaseGrant: &etcdserverpb.LeaseGrantRequest{ID: 1, TTL: 60}}
	ignoreLease := &request{Put: &etcdserverpb.PutRequest{Key: []byte("a"), Value: []byte("2"), IgnoreLease: true}}
	ignoreValue := &request{Put: &etcdserverpb.PutRequest{Key: []byte("a"), IgnoreValue: true}}

	store, _ := replay(t, grant, putRequest("a", "1", 1), ignoreLease)
	require.Equal(t, pair{value: []byte("2"), created: 2, changed: 3, version: 2, lease: 1}, store.pairs["a"])
	store, _ = replay(t, grant, putRequest("a", "1", 1), ignoreValue)
	require.Equal(t, pair{value: []byte("1"), created: 2, changed: 3, version: 2}, store.pairs["a"])
	for _, put := range []*request{ignoreLease, ignoreValue} {
		store, refused := replay(t, put)
		require.Empty(t, refused.changes)
		require.EqualValues(t, 1, store.revision)
	}
}

func TestReplayKeepsTheRevisionOfCreation(t *testing.T) {
	store, _ := replay(t, putRequest("a", "1", 0), putRequest("b", "1", 0), putRequest("a", "2", 0))
	require.Equal(t, pair{value: []byte("2"), created: 2, changed: 4, version: 2}, store.pairs["a"])

	store, _ = replay(t, putRequest("a", "1", 0),
		&request{DeleteRange: &etcdserverpb.DeleteRangeRequest{Key: []byte("a")}}, putRequest("a", "2", 0))
	require.Equal(t, pair{value: []byte("2"), created: 4, changed: 4, version: 1}, store.pairs["a"])
}

// A member whose database is full stops all writes, except puts in nested transactions, which etcd
// does not count.
func TestReplayHasNoSpace(t *testing.T) {
	alarm := func(action etcdserverpb.AlarmRequest_AlarmAction, member uint64) *request {
		return &request{Alarm: &etcdserverpb.AlarmRequest{Action: action, MemberID: member, Alarm: etcdserverpb.AlarmType_NOSPACE}}
	}
	raise, clear := etcdserverpb.AlarmRequest_ACTIVATE, etcdserverpb.AlarmRequest_DEACTIVATE
	put := &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: putRequest("a", "2", 0).Put}}
	remove := &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{Key: []byte("a")}}}
	nested := &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestTxn{RequestTxn: &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{put}}}}
	txn := func(success, failure *etcdserverpb.RequestOp) *request {
		return &request{Txn: &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{success}, Failure: []*etcdserverpb.RequestOp{failure}}}
	}
	for name, row := range map[string]struct {
		requests []*request
		changes  int
	}{
		"a put":                           {[]*request{putRequest("a", "2", 0)}, 0},
		"a put in a transaction":          {[]*request{txn(put, remove)}, 0},
		"a put in the other branch":       {[]*request{txn(remove, put)}, 0},
		"a put in a nested transaction":   {[]*request{txn(nested, remove)}, 1},
		"a deletion":                      {[]*request{{DeleteRange: remove.GetRequestDeleteRange()}}, 1},
		"a deletion in a transaction":     {[]*request{txn(remove, remove)}, 1},
		"after the alarm":                 {[]*request{alarm(clear, 1), putRequest("a", "2", 0)}, 1},
		"after the alarm of another":      {[]*request{alarm(clear, 2), putRequest("a", "2", 0)}, 0},
		"with a lease of after the alarm": {[]*request{alarm(clear, 1), {LeaseGrant: &etcdserverpb.LeaseGrantRequest{ID: 1, TTL: 60}}, putRequest("a", "2", 1)}, 1},
		"with a lease that was refused":   {[]*request{{LeaseGrant: &etcdserverpb.LeaseGrantRequest{ID: 1, TTL: 60}}, alarm(clear, 1), putRequest("a", "2", 1)}, 0},
	} {
		_, last := replay(t, append([]*request{putRequest("a", "1", 0), alarm(raise, 1)}, row.requests...)...)
		require.Len(t, last.changes, row.changes, name)
	}
}

func TestReplayCompacts(t *testing.T) {
	compact := func(revision int64) *request {
		return &request{Compaction: &etcdserverpb.CompactionRequest{Revision: revision}}
	}
	writes := []*request{putRequest("a", "1", 0), putRequest("a", "2", 0)}
	for name, row := range map[string]struct {
		requests []*request
		want     int64
	}{
		"the past":    {[]*request{compact(2)}, 2},
		"the present": {[]*request{compact(3)}, 3},
		"the future":  {[]*request{compact(4)}, 0},
		"again":       {[]*request{compact(2), compact(2)}, 0},
		"backwards":   {[]*request{compact(3), compact(2)}, 0},
		"onwards":     {[]*request{compact(2), compact(3)}, 3},
	} {
		_, effect := replay(t, append(writes, row.requests...)...)
		require.Equal(t, row.want, effect.compacted, name)
	}
}

func TestComparisons(t *testing.T) {
	store := newStore()
	store.pairs["a"] = pair{value: []byte("m"), created: 20, changed: 30, version: 40, lease: 50}
	store.pairs["b"] = pair{value: []byte("n"), created: 21, changed: 31, version: 41, lease: 51}

	// Each target is compared with numbers below, equal to and above the value of key
	// a.
	for _, target := range []struct {
		of    func(key string) clientv3.Cmp
		value func(offset int) any
	}{
		{clientv3.Value, func(offset int) any { return string(rune('m' + offset)) }},
		{clientv3.CreateRevision, func(offset int) any { return int64(20 + offset) }},
		{clientv3.ModRevision, func(offset int) any { return int64(30 + offset) }},
		{clientv3.Version, func(offset int) any { return int64(40 + offset) }},
		{clientv3.LeaseValue, func(offset int) any { return int64(50 + offset) }},
	} {
		for result, want := range map[string][]bool{
			"=":  {false, true, false},
			"!=": {true, false, true},
			">":  {true, false, false},
			"<":  {false, false, true},
		} {
			for i, offset := range []int{-1, 0, 1} {
				compare := clientv3.Compare(target.of("a"), result, target.value(offset))
				require.Equal(t, want[i], store.matches(compare.GetCompare()), compare.GetCompare())
			}
		}
	}

	for name, row := range map[string]struct {
		compare clientv3.Cmp
		want    bool
	}{
		"all of a range do":        {clientv3.Compare(clientv3.Version("a").WithRange("c"), ">", 39), true},
		"one of a range does not":  {clientv3.Compare(clientv3.Version("a").WithRange("c"), "=", 40), false},
		"no key has version 0":     {clientv3.Compare(clientv3.Version("c"), "=", 0), true},
		"no key has no value":      {clientv3.Compare(clientv3.Value("c"), "=", ""), false},
		"no key differs in value":  {clientv3.Compare(clientv3.Value("c"), "!=", "x"), false},
		"an empty range is as one": {clientv3.Compare(clientv3.ModRevision("c").WithPrefix(), "<", 1), true},
	} {
		require.Equal(t, row.want, store.matches(row.compare.GetCompare()), name)
	}
}
