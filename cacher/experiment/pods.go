package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

const (
	registryPrefix = "/registry"
	podPrefix      = "/pods/"
)

var (
	scheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
		utilruntime.Must(example.AddToScheme(scheme))
		utilruntime.Must(examplev1.AddToScheme(scheme))
		return scheme
	}()
	podSerializer = protobuf.NewSerializer(scheme, scheme)
	podCodec      = serializer.NewCodecFactory(scheme).CodecForVersions(podSerializer, podSerializer, schema.GroupVersions{examplev1.SchemeGroupVersion}, nil)
	podResource   = schema.GroupResource{Resource: "pods"}
	versioner     = storage.APIObjectVersioner{}
)

func newPod() runtime.Object     { return &example.Pod{} }
func newPodList() runtime.Object { return &example.PodList{} }

func keyOfPod(object runtime.Object) (string, error) {
	return storage.NamespaceKeyFunc(podPrefix, object)
}

func attributesOfPod(object runtime.Object) (labels.Set, fields.Set, error) {
	pod, ok := object.(*example.Pod)
	if !ok {
		return nil, nil, fmt.Errorf("expected a pod, found %T", object)
	}
	return pod.Labels, fields.Set{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace}, nil
}

// podName sorts as i does, so that pods created in turn have increasing keys.
func podName(i int) string { return fmt.Sprintf("pod-%06d", i) }

// connect opens a connection of its own to etcd.
func connect(address string) (*kubernetes.Client, error) {
	return kubernetes.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: etcdPatience})
}

// openStore opens a connection to etcd with the storage of pods over it that
// kube-apiserver has. The store has no compactor, which would hold a watch of its
// own. The function that is returned closes both.
func openStore(address string) (storage.Interface, func(), error) {
	client, err := connect(address)
	if err != nil {
		return nil, nil, err
	}
	store, err := etcd3.New(client, nil, podCodec, newPod, newPodList, registryPrefix, podPrefix, podResource,
		identity.NewEncryptCheckTransformer(), etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(podCodec, versioner), versioner)
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return store, func() { store.Close(); client.Close() }, nil
}

// writer creates and updates pods, and knows the revision of each write.
type writer struct {
	store   storage.Interface
	payload string
}

func newWriter(store storage.Interface, bytes int) *writer {
	return &writer{store: store, payload: strings.Repeat("x", bytes)}
}

// create creates pod i and returns its revision.
func (w *writer) create(ctx context.Context, i int) (int64, error) {
	pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: podName(i),
		Annotations: map[string]string{"payload": w.payload}}}
	key, err := keyOfPod(pod)
	if err != nil {
		return 0, err
	}
	created := &example.Pod{}
	if err := w.store.Create(ctx, key, pod, created, 0); err != nil {
		return 0, err
	}
	return revisionOf(created)
}

// update changes pod i and returns its new revision.
func (w *writer) update(ctx context.Context, i, change int) (int64, error) {
	updated := &example.Pod{}
	err := w.store.GuaranteedUpdate(ctx, podPrefix+"default/"+podName(i), updated, false, nil,
		storage.SimpleUpdate(func(current runtime.Object) (runtime.Object, error) {
			current.(*example.Pod).Labels = map[string]string{"change": fmt.Sprint(change)}
			return current, nil
		}), nil)
	if err != nil {
		return 0, err
	}
	return revisionOf(updated)
}

// revisionOf returns the etcd revision at which an object was written.
func revisionOf(object runtime.Object) (int64, error) {
	rv, err := versioner.ObjectResourceVersion(object)
	return int64(rv), err
}
