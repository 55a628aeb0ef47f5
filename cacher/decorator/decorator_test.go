package decorator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/watchsim/watchsim/cacher"
)

func TestParseSizes(t *testing.T) {
	sizes, err := ParseSizes([]string{"pods#1000", "deployments.apps#0"})
	require.NoError(t, err)
	require.Equal(t, Sizes{
		{Resource: "pods"}:                       1000,
		{Group: "apps", Resource: "deployments"}: 0,
	}, sizes)
	for _, setting := range []string{"", "pods", "pods#", "pods#x", "pods#-1", "#5", "pods#1#2"} {
		_, err := ParseSizes([]string{setting})
		require.ErrorContains(t, err, `found "`+setting+`"`)
	}
}

// TestStorageWithCacher decorates as an API server does, over a real etcd.
func TestStorageWithCacher(t *testing.T) {
	var _ generic.StorageDecorator = StorageWithCacher(Options{})
	server, backend := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	t.Cleanup(func() { server.Terminate(t) })
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
	backend.Codec = serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)

	decorate := func(options Options) (storage.Interface, func()) {
		pods := schema.GroupResource{Resource: "pods"}
		config := &storagebackend.ConfigForResource{Config: *backend, GroupResource: pods}
		keyFunc := func(object runtime.Object) (string, error) { return storage.NamespaceKeyFunc("/pods/", object) }
		decorated, destroy, err := StorageWithCacher(options)(config, "/pods", keyFunc,
			func() runtime.Object { return &example.Pod{} }, func() runtime.Object { return &example.PodList{} },
			storage.DefaultNamespaceScopedAttr, nil, nil)
		require.NoError(t, err)
		return decorated, destroy
	}
	for _, options := range []Options{{}, {Sizes: Sizes{{Resource: "pods"}: 5}, DefaultSize: -1}} {
		_, destroy := decorate(options)
		destroy()
	}
	decorated, destroy := decorate(Options{DefaultSize: 10})
	require.IsType(t, &cacher.Cacher{}, decorated)
	require.Eventually(t, func() bool { return decorated.ReadinessCheck() == nil }, 30*time.Second, time.Millisecond)
	pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	require.NoError(t, decorated.Create(t.Context(), "/pods/n/a", pod, pod, 0))
	var read example.Pod
	require.NoError(t, decorated.Get(t.Context(), "/pods/n/a", storage.GetOptions{ResourceVersion: pod.ResourceVersion}, &read))
	require.Equal(t, pod.UID, read.UID)
	destroy()
	destroy()
	require.ErrorIs(t, decorated.ReadinessCheck(), storage.ErrStorageNotReady)

	passedThrough, destroy := decorate(Options{Sizes: Sizes{{Resource: "pods"}: 0}})
	defer destroy()
	_, isCache := passedThrough.(*cacher.Cacher)
	require.False(t, isCache)
}
