package cacher

import (
	"context"
	"flag"
	"fmt"
	"os"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// patience bounds every wait of these tests, far above the usual time.
const patience = 30 * time.Second

const (
	podPrefix = "/pods/"
	nodeField = "spec.nodeName"
)

var (
	scheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
		utilruntime.Must(example.AddToScheme(scheme))
		utilruntime.Must(examplev1.AddToScheme(scheme))
		return scheme
	}()
	codecs        = serializer.NewCodecFactory(scheme)
	podSerializer = protobuf.NewSerializer(scheme, scheme)
	podCodec      = codecs.CodecForVersions(podSerializer, podSerializer, schema.GroupVersions{examplev1.SchemeGroupVersion}, nil)
)

func newPod() runtime.Object     { return &example.Pod{} }
func newPodList() runtime.Object { return &example.PodList{} }

func podKey(pod *example.Pod) string { return fmt.Sprintf("/pods/%s/%s", pod.Namespace, pod.Name) }

func podAttributes(object runtime.Object) (labels.Set, fields.Set, error) {
	pod, ok := object.(*example.Pod)
	if !ok {
		return nil, nil, fmt.Errorf("expected a pod, found %T", object)
	}
	return pod.Labels, fields.Set{
		"metadata.name":      pod.Name,
		"metadata.namespace": pod.Namespace,
		nodeField:            pod.Spec.NodeName,
		"spec.restartPolicy": string(pod.Spec.RestartPolicy),
		"status.phase":       string(pod.Status.Phase),
	}, nil
}

// setup is what a test can change about its fixture.
type setup struct {
	config      Config
	transformer value.Transformer
	codec       runtime.Codec
}

func newSetup(below storage.Interface, options []func(*setup)) setup {
	s := setup{transformer: identity.NewEncryptCheckTransformer(), codec: podCodec, config: Config{
		Storage:        below,
		Versioner:      storage.APIObjectVersioner{},
		GroupResource:  schema.GroupResource{Resource: "pods"},
		ResourcePrefix: podPrefix,
		KeyFunc:        keyOfPod,
		GetAttrsFunc:   podAttributes,
		NewFunc:        newPod,
		NewListFunc:    newPodList,
	}}
	for _, option := range options {
		option(&s)
	}
	return s
}

// podConfig is the configuration of a cache of pods, without an index unless options add one.
func podConfig(below storage.Interface, options ...func(*setup)) Config {
	return newSetup(below, options).config
}

// clusterScoped keys the pods without their namespace.
func clusterScoped(s *setup) {
	s.config.KeyFunc = func(object runtime.Object) (string, error) { return storage.NoNamespaceKeyFunc(podPrefix, object) }
}

// indexed groups watches, and indexes lists, as the pod registry does.
func indexed(s *setup) {
	s.config.IndexerFuncs = storage.IndexerFuncs{
		nodeField: func(object runtime.Object) string { return object.(*example.Pod).Spec.NodeName },
	}
	s.config.Indexers = &cache.Indexers{
		storage.FieldIndex(nodeField): func(object any) ([]string, error) {
			return []string{object.(*example.Pod).Spec.NodeName}, nil
		},
		storage.FieldIndex("metadata.namespace"): func(object any) ([]string, error) {
			return []string{object.(*example.Pod).Namespace}, nil
		},
	}
}

// fixture is a cache over an etcd3 store over an etcd of its own.
type fixture struct {
	*Cacher
	server *etcd3testing.EtcdTestServer
	store  storage.Interface
}

func newFixture(t testing.TB, options ...func(*setup)) *fixture {
	t.Helper()
	s := newSetup(nil, options)
	server, store := newStore(t, s.codec, s.transformer)
	// The first list fails, so that every test includes a reinitialisation.
	failing := &failingOnce{StorageInjectingListErrors: storagetesting.StorageInjectingListErrors{Interface: store, Errors: 1}}
	s.config.Storage, s.config.Codec = failing, s.codec
	cacher, err := New(s.config)
	require.NoError(t, err)
	t.Cleanup(cacher.Stop)
	require.Eventually(t, func() bool { consumed, _ := failing.ErrorsConsumed(); return consumed }, patience, time.Millisecond)
	require.NoError(t, cacher.Wait(t.Context()))
	return &fixture{Cacher: cacher, server: server, store: failing}
}

// failingOnce streams no objects until a list of them has failed.
type failingOnce struct {
	storagetesting.StorageInjectingListErrors
}

func (f *failingOnce) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	if failed, _ := f.ErrorsConsumed(); !failed && options.SendInitialEvents != nil {
		return nil, errFailing
	}
	return f.StorageInjectingListErrors.Watch(ctx, key, options)
}

func newStore(t testing.TB, codec runtime.Codec, transformer value.Transformer) (*etcd3testing.EtcdTestServer, storage.Interface) {
	server, _ := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	versioner := storage.APIObjectVersioner{}
	compactor := etcd3.NewCompactor(server.V3Client.Client, 0, clock.RealClock{}, nil)
	t.Cleanup(compactor.Stop)
	store, err := etcd3.New(server.V3Client, compactor, codec, newPod, newPodList, etcd3testing.PathPrefix(), podPrefix,
		schema.GroupResource{Resource: "pods"}, transformer, etcd3.NewDefaultLeaseManagerConfig(),
		etcd3.NewDefaultDecoder(codec, versioner), versioner)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return server, store
}

// compactWatch discards the events up to an RV, in the cache and in etcd.
func (f *fixture) compactWatch(ctx context.Context, t *testing.T, resourceVersion string) {
	rv := f.reach(ctx, t, resourceVersion)
	require.Zero(t, f.Watchers(), "open watches could not go on")
	func() {
		f.state.mu.Lock()
		defer f.state.mu.Unlock()
		log := f.state.log
		for log.first < log.end && log.at(log.first).rv <= rv {
			log.first++
		}
		log.floor = rv
	}()
	_, err := f.server.V3Client.Client.Compact(ctx, int64(rv))
	require.NoError(t, err)
}

// reach waits until the cache has reached a resourceVersion.
func (f *fixture) reach(ctx context.Context, t *testing.T, resourceVersion string) uint64 {
	rv, err := f.config.Versioner.ParseResourceVersion(resourceVersion)
	require.NoError(t, err)
	require.NoError(t, f.waitFresh(ctx, rv))
	return rv
}

// compactStore compacts etcd as an API server does, and waits until the cache knows.
func (f *fixture) compactStore(ctx context.Context, t *testing.T, resourceVersion string) {
	rv, err := f.config.Versioner.ParseResourceVersion(resourceVersion)
	require.NoError(t, err)
	version, _, _, err := etcd3.Compact(ctx, f.server.V3Client.Client, 0, int64(rv))
	if err != nil {
		_, _, _, err = etcd3.Compact(ctx, f.server.V3Client.Client, version, int64(rv))
	}
	require.NoError(t, err)
	if f.snapshotting {
		require.Eventually(t, func() bool { return f.store.CompactRevision() == int64(rv) }, patience, time.Millisecond)
		f.compactIfNeeded()
	}
}

// increaseRV advances etcd's revision without a change of a pod.
func (f *fixture) increaseRV(ctx context.Context, t *testing.T) int64 {
	response, err := f.server.V3Client.Client.KV.Put(ctx, "increaseRV", "ok")
	require.NoError(t, err)
	return response.Header.Revision
}

// creating is a cache whose creations can be read from it when they return.
type creating struct{ *Cacher }

func (c creating) Create(ctx context.Context, key string, object, out runtime.Object, ttl uint64) error {
	if err := c.Cacher.Create(ctx, key, object, out, ttl); err != nil {
		return err
	}
	return c.waitFresh(ctx, rvOf(out))
}

// TestMain makes the tests run concurrently. Kubernetes' suite gives an object a TTL of a second
// and reads it in parallel subtests, one of which waits for seconds; one after the other, as with
// one P, the object is gone.
func TestMain(m *testing.M) {
	flag.Parse()
	if goruntime.GOMAXPROCS(0) < 8 {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
