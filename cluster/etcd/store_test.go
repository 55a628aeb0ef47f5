package etcd

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/watchsim/watchsim/model"
)

// A store's commits become the truth about the watched keys, and impossible ones are rejected.
func TestTruthOfAStore(t *testing.T) {
	decode := func(_ string, value []byte) (model.Object, error) { return model.Object{Name: string(value)}, nil }
	put := func(revision int64, key string) Commit {
		return Commit{Revision: revision, Key: key, Value: []byte(key)}
	}
	named := func(name string, rv int64) model.Object { return model.Object{Name: name, RV: rv} }
	for name, row := range map[string]struct {
		commits []Commit
		truth   model.Truth
		err     string
	}{
		"nothing": {nil, model.Truth{Revision: 1}, ""},
		"changes and a compaction": {
			[]Commit{put(2, "a/1"), put(3, "b"), {Revision: 2, Compacted: true}, {Revision: 4, Key: "a/1", Deleted: true, Expired: true}},
			model.Truth{
				Revision:    4,
				Compactions: []model.Compaction{{RV: 2, Time: model.Pending}},
				Changes:     []model.Change{{RV: 2, Object: named("a/1", 2)}, {RV: 4, Deleted: true, Expired: true, Object: named("a/1", 4)}},
			}, "",
		},
		"a transaction": {
			[]Commit{put(2, "a/1"), put(2, "a/2")},
			model.Truth{Revision: 2, Changes: []model.Change{{RV: 2, Object: named("a/1", 2)}, {RV: 2, Object: named("a/2", 2)}}}, "",
		},
		"a revision goes back":        {[]Commit{put(3, "a/1"), put(2, "b")}, model.Truth{}, "expected a revision from 3 on, found 2, which changes b"},
		"the first revision is empty": {[]Commit{put(1, "a/1")}, model.Truth{}, "expected a revision from 2 on, found 1, which changes a/1"},
		"a compaction of the future":  {[]Commit{put(2, "a/1"), {Revision: 3, Compacted: true}}, model.Truth{}, "expected a compaction above revision 0, up to 2, found 3"},
		"a compaction again": {
			[]Commit{put(2, "a/1"), {Revision: 2, Compacted: true}, {Revision: 2, Compacted: true}},
			model.Truth{}, "expected a compaction above revision 2, up to 2, found 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := Store{Committed: func(string) ([]Commit, error) { return row.commits, nil }}
			truth, err := store.Truth("", "a/", decode)
			if row.err != "" {
				require.EqualError(t, err, row.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.truth, truth)
		})
	}
}

// counted is a store in which each revision creates a key, except those that delete one.
type counted struct {
	etcdserverpb.UnimplementedKVServer
	oldest  int64
	newest  int64
	deletes map[int64]bool
}

func (c counted) Range(_ context.Context, request *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	if request.Revision > 0 && request.Revision < c.oldest {
		return nil, rpctypes.ErrGRPCCompacted
	}
	answer := &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: c.newest}}
	for revision := int64(1); revision <= request.Revision; revision++ {
		if answer.Count++; c.deletes[revision] {
			answer.Count -= 2
		}
	}
	return answer, nil
}

// The revisions that faults use are derived from a store's answers.
func TestRevisionsOfAStore(t *testing.T) {
	r := &replacement{services: Services{KV: counted{oldest: 7, newest: 30, deletes: map[int64]bool{5: true, 12: true, 20: true}}}}
	require.EqualValues(t, 30, r.Revision())
	require.EqualValues(t, 7, r.OldestRevision())
	for lookBack, found := range map[int]int64{100: 20, 11: 20, 9: 0} {
		last, err := r.LastDeletion(t.Context(), "a/", lookBack)
		require.NoError(t, err)
		require.Equal(t, found, last, "within %d", lookBack)
	}
	_, err := (&Store{}).Run(Config{Name: "etcd-0", Cluster: []string{"etcd-0", "etcd-1"}})
	require.EqualError(t, err, `store "etcd-0": expected it to be the only member, found 2`)
}
