// Package store provides the storage of one resource as kube-apiserver wires it, and the API server for custom resources that is inside kube-apiserver.
package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Prefix is where the ConfigMaps are stored, in namespace "ns".
const Prefix = "/registry/configmaps/ns/"

// Store is the storage of ConfigMaps in one API server: etcd3 store, cacher and
// delegator, made by the functions that kube-apiserver uses.
type Store struct {
	storage.Interface
	// Decryption fails while Broken is set, as in an outage of a KMS plugin.
	Broken atomic.Bool

	codec runtime.Codec
}

// New connects to etcd at an address and waits until the cache is initialised.
func New(address string) *Store {
	json, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	version := corev1.SchemeGroupVersion
	s := &Store{codec: scheme.Codecs.CodecForVersions(json.Serializer, scheme.Codecs.UniversalDeserializer(), version, version)}

	config := storagebackend.NewDefaultConfig("/registry", s.codec)
	config.Transport.ServerList = []string{"http://" + address}
	config.Transformer = Reading(func(context.Context) error {
		if s.Broken.Load() {
			return errors.New("kms: connection refused")
		}
		return nil
	})
	resource := config.ForResource(schema.GroupResource{Resource: "configmaps"})
	key := func(o runtime.Object) (string, error) { return storage.NamespaceKeyFunc("/configmaps/", o) }
	one := func() runtime.Object { return &corev1.ConfigMap{} }
	list := func() runtime.Object { return &corev1.ConfigMapList{} }
	var err error
	s.Interface, _, err = registry.StorageWithCacher()(resource, "/configmaps", key, one, list, storage.DefaultNamespaceScopedAttr, nil, nil)
	rig.Must(err)
	rig.Await(time.Millisecond, time.Minute, "the cache is not initialised after a minute", func() bool { return s.ReadinessCheck() == nil })
	return s
}

// Encode returns the stored form of a ConfigMap.
func (s *Store) Encode(name, data string) string {
	return string(rig.Value(runtime.Encode(s.codec, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"data": data},
	})))
}

// List lists at a resourceVersion, "" for a consistent read. It returns the resourceVersions
// of the list and of each object.
func (s *Store) List(ctx context.Context, rv string) (int64, map[string]int64, error) {
	list := &corev1.ConfigMapList{}
	options := storage.ListOptions{Recursive: true, ResourceVersion: rv, Predicate: storage.Everything}
	if err := s.GetList(ctx, "/configmaps/", options, list); err != nil {
		return 0, nil, err
	}
	objects := map[string]int64{}
	for _, item := range list.Items {
		objects[item.Name] = revision(item.ResourceVersion)
	}
	return revision(list.ResourceVersion), objects, nil
}

func revision(rv string) int64 {
	n, err := strconv.ParseInt(rv, 10, 64)
	if err != nil {
		rig.Must(fmt.Errorf("resourceVersion %q is no revision of etcd: %w", rv, err))
	}
	return n
}
