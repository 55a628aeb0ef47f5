package etcd

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/lease"
)

// store is etcd's key-value store reduced to what determines revisions and contents:
// the current state, leases, the compacted revision, and alarms. It applies the requests of the
// log one after another, as every member does.
type store struct {
	revision  int64
	compacted int64
	pairs     map[string]pair
	leases    map[int64]map[string]bool // the keys attached to each lease
	full      map[uint64]bool           // the members that have raised an alarm for lack of space
}

// pair is the current state of one key.
type pair struct {
	value   []byte
	created int64
	changed int64
	version int64
	lease   int64
}

// write is one change to one key.
type write struct {
	key     string
	value   []byte
	deleted bool
	expired bool // deleted because its lease was revoked
}

// effect is the result of one request. All changes of a request have one revision.
type effect struct {
	changes   []write
	compacted int64 // 0 unless the request compacted the history
}

// newStore returns an empty store. etcd's first write gets revision 2.
func newStore() *store {
	return &store{
		revision:  1,
		compacted: -1,
		pairs:     map[string]pair{},
		leases:    map[int64]map[string]bool{},
		full:      map[uint64]bool{},
	}
}

// apply applies one request of the log. Requests that etcd answers with an error are in
// the log as well and have no effect.
func (s *store) apply(request *etcdserverpb.InternalRaftRequest) (effect, error) {
	transaction := transaction{store: s, revision: s.revision + 1}
	switch {
	case request.Put != nil:
		if len(s.full) == 0 && s.admitsPut(request.Put) {
			transaction.put(request.Put)
		}
	case request.DeleteRange != nil:
		transaction.deleteRange(request.DeleteRange)
	case request.Txn != nil:
		operations := s.choose(request.Txn)
		if s.hasSpaceFor(request.Txn) && s.admits(operations) {
			transaction.execute(operations)
		}
	case request.LeaseRevoke != nil:
		transaction.revoke(request.LeaseRevoke.ID)
	case request.LeaseGrant != nil:
		if len(s.full) == 0 {
			s.grant(request.LeaseGrant)
		}
	case request.Alarm != nil && request.Alarm.Alarm == etcdserverpb.AlarmType_NOSPACE:
		s.alarm(request.Alarm)
	case request.Compaction != nil:
		return effect{compacted: s.compact(request.Compaction.Revision)}, nil
	case !changesNothing(request):
		return effect{}, fmt.Errorf("the effect of this request is not known: %v", request)
	}
	if len(transaction.changes) > 0 {
		s.revision++
	}
	return effect{changes: transaction.changes}, nil
}

// changesNothing reports whether a request leaves both the store and its rules
// unchanged. Alarms about corruption and authentication change the rules.
func changesNothing(request *etcdserverpb.InternalRaftRequest) bool {
	switch {
	case request.ClusterVersionSet != nil, request.ClusterMemberAttrSet != nil,
		request.DowngradeInfoSet != nil,
		request.Range != nil, request.LeaseCheckpoint != nil, request.AuthStatus != nil:
		return true
	case request.Alarm != nil:
		return request.Alarm.Action != etcdserverpb.AlarmRequest_ACTIVATE
	default:
		return false
	}
}

// compact discards the history below revision and returns revision, or 0 if it is
// already compacted or in the future.
func (s *store) compact(revision int64) int64 {
	if revision <= s.compacted || revision > s.revision {
		return 0
	}
	s.compacted = revision
	return revision
}

// alarm raises or clears an alarm of a member, or reads the alarms.
func (s *store) alarm(request *etcdserverpb.AlarmRequest) {
	switch request.Action {
	case etcdserverpb.AlarmRequest_ACTIVATE:
		s.full[request.MemberID] = true
	case etcdserverpb.AlarmRequest_DEACTIVATE:
		delete(s.full, request.MemberID)
	}
}

// hasSpaceFor reports whether etcd executes a transaction despite alarms for lack of space. A put
// in either branch counts, whatever the comparisons say, but none in a nested transaction.
func (s *store) hasSpaceFor(request *etcdserverpb.TxnRequest) bool {
	puts := func(operation *etcdserverpb.RequestOp) bool { return operation.GetRequestPut() != nil }
	return len(s.full) == 0 || !slices.ContainsFunc(request.Success, puts) && !slices.ContainsFunc(request.Failure, puts)
}

func (s *store) grant(request *etcdserverpb.LeaseGrantRequest) {
	if request.ID == 0 || request.TTL > lease.MaxLeaseTTL || s.leases[request.ID] != nil {
		return
	}
	s.leases[request.ID] = map[string]bool{}
}

// keys returns the existing keys of a range, sorted. As in etcd's API, an empty end means only the
// key itself, and a zero byte all keys from key on.
func (s *store) keys(key, end []byte) []string {
	from, to := string(key), string(end)
	if to == "" {
		if _, ok := s.pairs[from]; ok {
			return []string{from}
		}
		return nil
	}
	var found []string
	for existing := range s.pairs {
		if existing >= from && (to == "\x00" || existing < to) {
			found = append(found, existing)
		}
	}
	slices.Sort(found)
	return found
}

// admitsPut reports whether etcd executes a put: its lease must exist, and so must the
// key whose value or lease it keeps.
func (s *store) admitsPut(put *etcdserverpb.PutRequest) bool {
	_, exists := s.pairs[string(put.Key)]
	return (put.Lease == 0 || s.leases[put.Lease] != nil) &&
		(exists || !put.IgnoreValue && !put.IgnoreLease)
}

// admitsRange reports whether the revision to read is neither compacted nor in the
// future.
func (s *store) admitsRange(request *etcdserverpb.RangeRequest) bool {
	return request.Revision == 0 || request.Revision >= s.compacted && request.Revision <= s.revision
}

// transaction collects the changes of one request, which all have one revision.
type transaction struct {
	store    *store
	revision int64
	changes  []write
}

func (t *transaction) put(put *etcdserverpb.PutRequest) {
	key := string(put.Key)
	old, exists := t.store.pairs[key]
	pair := pair{
		value:   put.Value,
		created: t.revision,
		changed: t.revision,
		version: old.version + 1,
		lease:   put.Lease,
	}
	if exists {
		pair.created = old.created
	}
	if put.IgnoreValue {
		pair.value = old.value
	}
	if put.IgnoreLease {
		pair.lease = old.lease
	}
	t.store.attach(key, old.lease, pair.lease)
	t.store.pairs[key] = pair
	t.changes = append(t.changes, write{key: key, value: pair.value})
}

func (t *transaction) deleteRange(request *etcdserverpb.DeleteRangeRequest) {
	for _, key := range t.store.keys(request.Key, request.RangeEnd) {
		t.delete(key)
	}
}

func (t *transaction) delete(key string) {
	t.store.attach(key, t.store.pairs[key].lease, 0)
	delete(t.store.pairs, key)
	t.changes = append(t.changes, write{key: key, deleted: true})
}

// revoke deletes the keys attached to a lease, in order of key.
func (t *transaction) revoke(lease int64) {
	for _, key := range slices.Sorted(maps.Keys(t.store.leases[lease])) {
		t.delete(key)
		t.changes[len(t.changes)-1].expired = true
	}
	delete(t.store.leases, lease)
}

// attach moves a key from one lease to another; 0 is none.
func (s *store) attach(key string, from, to int64) {
	if from == to {
		return
	}
	if from != 0 {
		delete(s.leases[from], key)
	}
	if to != 0 {
		s.leases[to][key] = true
	}
}

// choose evaluates all comparisons of a transaction, including nested ones, against the
// state before it. It returns the operations of the chosen branches as one list.
func (s *store) choose(request *etcdserverpb.TxnRequest) []*etcdserverpb.RequestOp {
	branch := request.Success
	if slices.ContainsFunc(request.Compare, func(compare *etcdserverpb.Compare) bool { return !s.matches(compare) }) {
		branch = request.Failure
	}
	var operations []*etcdserverpb.RequestOp
	for _, operation := range branch {
		if nested := operation.GetRequestTxn(); nested != nil {
			operations = append(operations, s.choose(nested)...)
		} else {
			operations = append(operations, operation)
		}
	}
	return operations
}

// admits reports whether etcd executes the operations. etcd checks them against the
// state before the transaction and executes all or none.
func (s *store) admits(operations []*etcdserverpb.RequestOp) bool {
	for _, operation := range operations {
		if put := operation.GetRequestPut(); put != nil && !s.admitsPut(put) {
			return false
		}
		if get := operation.GetRequestRange(); get != nil && !s.admitsRange(get) {
			return false
		}
	}
	return true
}

func (t *transaction) execute(operations []*etcdserverpb.RequestOp) {
	for _, operation := range operations {
		switch request := operation.Request.(type) {
		case *etcdserverpb.RequestOp_RequestPut:
			t.put(request.RequestPut)
		case *etcdserverpb.RequestOp_RequestDeleteRange:
			t.deleteRange(request.RequestDeleteRange)
		}
	}
}

// matches evaluates one comparison of a transaction. For a key that does not exist,
// revisions, version and lease are 0, and its value equals nothing.
func (s *store) matches(compare *etcdserverpb.Compare) bool {
	keys := s.keys(compare.Key, compare.RangeEnd)
	if len(keys) == 0 {
		return compare.Target != etcdserverpb.Compare_VALUE && holds(compare, pair{})
	}
	return !slices.ContainsFunc(keys, func(key string) bool { return !holds(compare, s.pairs[key]) })
}

// holds evaluates a comparison against one key.
func holds(compare *etcdserverpb.Compare, pair pair) bool {
	var order int
	switch compare.Target {
	case etcdserverpb.Compare_VALUE:
		order = bytes.Compare(pair.value, compare.GetValue())
	case etcdserverpb.Compare_CREATE:
		order = cmp.Compare(pair.created, compare.GetCreateRevision())
	case etcdserverpb.Compare_MOD:
		order = cmp.Compare(pair.changed, compare.GetModRevision())
	case etcdserverpb.Compare_VERSION:
		order = cmp.Compare(pair.version, compare.GetVersion())
	case etcdserverpb.Compare_LEASE:
		order = cmp.Compare(pair.lease, compare.GetLease())
	}
	switch compare.Result {
	case etcdserverpb.Compare_EQUAL:
		return order == 0
	case etcdserverpb.Compare_NOT_EQUAL:
		return order != 0
	case etcdserverpb.Compare_GREATER:
		return order > 0
	default:
		return order < 0
	}
}
