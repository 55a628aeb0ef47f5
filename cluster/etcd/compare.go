package etcd

import (
	"bytes"
	"cmp"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// matches evaluates one comparison of a transaction. For a key that does not exist,
// revisions, version and lease are 0, and its value equals nothing.
func (s *store) matches(compare *etcdserverpb.Compare) bool {
	keys := s.keys(compare.Key, compare.RangeEnd)
	if len(keys) == 0 {
		return compare.Target != etcdserverpb.Compare_VALUE && holds(compare, pair{})
	}
	for _, key := range keys {
		if !holds(compare, s.pairs[key]) {
			return false
		}
	}
	return true
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
