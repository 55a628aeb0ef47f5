package store

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// Options are those of the storage of a resource, as kube-apiserver sets them. They implement generic.RESTOptionsGetter.
type Options struct {
	Etcd     string // its host and port
	Prefix   string // of all keys, "/registry" if it is empty
	Uncached bool   // has no watch cache
}

// Root is the prefix of all keys.
func (o Options) Root() string { return cmp.Or(o.Prefix, "/registry") }

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o Options) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	codec := legacyscheme.Codecs.LegacyCodec(legacyscheme.Scheme.PrioritizedVersionsAllGroups()...)
	config := storagebackend.NewDefaultConfig(o.Root(), codec)
	config.Transport.ServerList = []string{"http://" + o.Etcd}
	decorator := registry.StorageWithCacher()
	if o.Uncached {
		decorator = generic.UndecoratedStorage
	}
	return generic.RESTOptions{
		StorageConfig: config.ForResource(resource), ResourcePrefix: "/" + resource.Resource, Decorator: decorator,
		EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
	}, nil
}
