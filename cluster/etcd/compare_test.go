package etcd

import (
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

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
