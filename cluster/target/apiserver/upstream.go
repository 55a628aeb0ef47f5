package apiserver

import (
	"context"

	"k8s.io/apiserver/pkg/storage"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/faults"
)

// upstreamStorage is the storage below the cache, with the methods that old releases
// lack: reading the current revision and requesting progress. It also supports caches
// that start with a watch instead of a list.
type upstreamStorage struct{ *registry.Upstream }

func newUpstreamStorage(inner storage.Interface, injection *target.Injection, reached func(context.Context, string)) upstreamStorage {
	upstream := registry.NewUpstream(inner, injection, reached)
	upstream.BeginsWithList = func(options storage.ListOptions) bool {
		return options.SendInitialEvents != nil && *options.SendInitialEvents
	}
	return upstreamStorage{upstream}
}

// GetCurrentResourceVersion implements storage.Interface.
func (u upstreamStorage) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	u.Reached(ctx, faults.PointRevision)
	return u.Upstream.GetCurrentResourceVersion(ctx)
}

// RequestWatchProgress implements storage.Interface.
func (u upstreamStorage) RequestWatchProgress(ctx context.Context) error {
	u.Reached(ctx, faults.PointProgress)
	return u.Upstream.RequestWatchProgress(ctx)
}
