package main

import (
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/watchsim/watchsim/cluster/etcd"
)

// store has all revisions since the last compaction in memory. Changes are in a log on the disk
// before anybody can see them.
type store struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedWatchServer
	etcdserverpb.UnimplementedLeaseServer
	etcdserverpb.UnimplementedMaintenanceServer

	mistakes mistakes
	progress time.Duration

	mu        sync.Mutex // guards what follows
	log       *os.File
	size      int64 // of the log
	revision  int64 // of the last change
	compacted int64
	keys      []string                      // sorted
	versions  map[string][]*mvccpb.KeyValue // in order of revision; a deletion has the version 0
	events    []*mvccpb.Event               // in order of revision
	leases    map[int64]*lease
	changed   chan struct{} // closed by the next change
}

// open starts a store from its log.
func open(config etcd.StoreConfig, mistakes mistakes) (*store, error) {
	s := &store{
		mistakes: mistakes, progress: config.ProgressNotify, revision: 1,
		versions: map[string][]*mvccpb.KeyValue{}, leases: map[int64]*lease{}, changed: make(chan struct{}),
	}
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, err
	}
	records, size, err := readLog(config.Dir)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		s.apply(r)
	}
	if s.log, err = os.OpenFile(logOf(config.Dir), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	s.size = size
	if err = s.log.Truncate(size); err == nil {
		err = s.log.Sync() // an earlier life may have ended before its sync
	}
	return s, err
}

// stop ends the store gracefully.
func (s *store) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lease := range s.leases {
		lease.timer.Stop()
	}
	_ = s.log.Close() // everything is on the disk
}

// apply applies a record to the state in memory.
func (s *store) apply(r record) {
	if r.Revision != 0 {
		s.revision = r.Revision
	}
	for _, c := range r.Changes {
		before := s.at(c.Key, r.Revision)
		now := &mvccpb.KeyValue{Key: []byte(c.Key), ModRevision: r.Revision}
		event := &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: now, PrevKv: before}
		if !c.Deleted {
			event.Type = mvccpb.Event_PUT
			now.Value, now.Lease, now.Version, now.CreateRevision = c.Value, c.Lease, 1, r.Revision
			if before != nil {
				now.Version, now.CreateRevision = before.Version+1, before.CreateRevision
			}
		}
		if i, known := slices.BinarySearch(s.keys, c.Key); !known {
			s.keys = slices.Insert(s.keys, i, c.Key)
		}
		s.versions[c.Key] = append(s.versions[c.Key], now)
		s.events = append(s.events, event)
	}
	switch {
	case r.Compact != 0:
		s.compact(r.Compact)
	case r.Grant != 0:
		s.grant(r.Grant, r.TTL)
	case r.Revoke != 0:
		s.leases[r.Revoke].timer.Stop()
		delete(s.leases, r.Revoke)
	}
}

// compact discards the events up to a revision, and the older states of each key.
func (s *store) compact(revision int64) {
	s.compacted = revision
	s.events = slices.Clone(s.events[s.after(revision):])
	s.keys = slices.DeleteFunc(s.keys, func(key string) bool {
		versions := s.versions[key]
		for len(versions) > 0 && versions[0].ModRevision <= revision &&
			(versions[0].Version == 0 || len(versions) > 1 && versions[1].ModRevision <= revision) {
			versions = versions[1:]
		}
		if s.versions[key] = versions; len(versions) == 0 {
			delete(s.versions, key)
		}
		return len(versions) == 0
	})
}

// after returns the index of the first event after a revision.
func (s *store) after(revision int64) int {
	return sort.Search(len(s.events), func(i int) bool { return s.events[i].Kv.ModRevision > revision })
}

// at returns a key's value at a revision; nil if there was none.
func (s *store) at(key string, revision int64) *mvccpb.KeyValue {
	for _, version := range slices.Backward(s.versions[key]) {
		if version.ModRevision <= revision {
			if version.Version == 0 {
				return nil
			}
			return version
		}
	}
	return nil
}

// within reports whether a key is in a range of etcd's API: only the key itself without an end, and
// all from the key on if the end is a zero byte.
func within(key, from, end string) bool {
	if end == "" {
		return key == from
	}
	return key >= from && (end == "\x00" || key < end)
}

// between returns the pairs of a range at a revision, sorted by key.
func (s *store) between(from, end string, revision int64) (pairs []*mvccpb.KeyValue) {
	first, _ := slices.BinarySearch(s.keys, from)
	for _, key := range s.keys[first:] {
		if !within(key, from, end) {
			break
		}
		if pair := s.at(key, revision); pair != nil {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// header returns the header of an answer.
func header(revision int64) *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{ClusterId: 1, MemberId: 1, RaftTerm: 1, Revision: revision}
}
