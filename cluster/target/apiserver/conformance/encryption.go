package conformance

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// encrypted is a target whose API servers encrypt what they store.
type encrypted struct{ target.Target }

func (e encrypted) Start(config target.ServerConfig) (target.Server, error) {
	config.Tuning.Encryption = cmp.Or(config.Tuning.Encryption, target.EncryptionAES)
	return e.Target.Start(config)
}

// testValuesAreWrittenAgainWithAnotherKey makes servers with several keys write an object in turn.
// An update that changes nothing writes if and only if the stored value has another key than the
// server writes with.
func testValuesAreWrittenAgainWithAnotherKey(t *testing.T, f *fixture) {
	for _, row := range []struct {
		encryption string
		restarts   []int
		writes     []bool
	}{
		{target.EncryptionAES, []int{0, 1, 0}, []bool{false, false, false}},
		{target.EncryptionRotating, []int{0, 1, 1, 2, 0, 3}, []bool{false, true, false, true, true, false}},
	} {
		f := newFixture(t, f.target)
		start := func(restarts int) {
			f.server = f.start(target.ServerConfig{Tuning: target.Tuning{Encryption: row.encryption}, Restarts: restarts})
		}
		start(0)
		last, changes := f.create(object("n", "a", "1")), 1
		for i, restarts := range row.restarts {
			start(restarts)
			touched := f.do(model.OK, model.Operation{Kind: model.Get, Touch: true, Scope: model.Scope{Namespace: "n", Name: "a"}, RV: model.RVUnset})
			require.Equal(t, row.writes[i], touched.ResultRV > last.RV, "%q, start %d", row.encryption, i)
			want := last
			want.RV = touched.ResultRV
			require.Equal(t, []model.Object{want}, touched.Objects)
			if last = want; row.writes[i] {
				changes++
			}
		}
		decode := func(key string, stored []byte) (model.Object, error) {
			require.NotContains(t, string(stored), "Pod", "a value that is not encrypted names its type")
			return f.target.Decode(key, stored)
		}
		truth, err := etcd.Truth(f.target.Etcd(), []etcd.Era{{Dirs: []string{f.dir}}}, f.target.Prefix(), decode)
		require.NoError(t, err)
		require.Len(t, truth.Changes, changes)
		require.Equal(t, model.Change{RV: last.RV, Object: last}, truth.Changes[changes-1])
	}
}
