package store

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// Options are those of the storage of a resource, as kube-apiserver sets them. They implement generic.RESTOptionsGetter.
type Options struct {
	Etcd     string  // its host and port
	Prefix   string  // of all keys, "/registry" if it is empty
	Uncached bool    // has no watch cache
	Reading  Reading // is called whenever an object has been read from etcd, unless it is nil
}

// Root is the prefix of all keys.
func (o Options) Root() string { return cmp.Or(o.Prefix, "/registry") }

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o Options) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	codec := legacyscheme.Codecs.LegacyCodec(legacyscheme.Scheme.PrioritizedVersionsAllGroups()...)
	config := storagebackend.NewDefaultConfig(o.Root(), codec)
	config.Transport.ServerList = []string{"http://" + o.Etcd}
	if o.Reading != nil {
		config.Transformer = o.Reading
	}
	decorator := registry.StorageWithCacher()
	if o.Uncached {
		decorator = generic.UndecoratedStorage
	}
	return generic.RESTOptions{
		StorageConfig: config.ForResource(resource), ResourcePrefix: "/" + resource.Resource, Decorator: decorator,
		EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
	}, nil
}

// Reading is a value.Transformer that leaves data as it is, and calls a function before it passes on what is read. It fails if the function does.
type Reading func(context.Context) error

// TransformFromStorage implements value.Transformer.
func (r Reading) TransformFromStorage(ctx context.Context, data []byte, _ value.Context) ([]byte, bool, error) {
	return data, false, r(ctx)
}

// TransformToStorage implements value.Transformer.
func (Reading) TransformToStorage(_ context.Context, data []byte, _ value.Context) ([]byte, error) {
	return data, nil
}
