package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// TestDecorated looks at what lies below the registry for each value of
// --watch-cache.
func TestDecorated(t *testing.T) {
	etcd := startEtcd(t)
	for _, test := range []struct {
		cache WatchCache
		sizes []string
		want  string
	}{
		{cache: Watchsim, want: "*cacher.Cacher"},
		{cache: Watchsim, sizes: []string{"widgets#10"}, want: "*cacher.Cacher"},
		{cache: Watchsim, sizes: []string{"widgets.example.watchsim.dev#0"}, want: "*etcd3."},
		{cache: Kubernetes, want: "*cacher.CacheDelegator"},
		{cache: Kubernetes, sizes: []string{"widgets#0"}, want: "*etcd3."},
		{cache: Off, want: "*etcd3."},
	} {
		storage := NewOptions().Recommended.Etcd
		storage.StorageConfig.Transport.ServerList = []string{etcd.Endpoint()}
		sizes, err := parseSizes(test.sizes)
		require.NoError(t, err)
		getter := &genericoptions.StorageFactoryRestOptionsFactory{
			Options:        *storage,
			StorageFactory: &genericoptions.SimpleStorageFactory{StorageConfig: storage.StorageConfig},
		}
		store, err := newWidgetStore(decorated{getter, test.cache, sizes})
		require.NoError(t, err)
		found := fmt.Sprintf("%T", store.Storage.Storage)
		require.True(t, strings.HasPrefix(found, test.want), "%v: %s", test, found)
		store.Destroy()
	}
}
