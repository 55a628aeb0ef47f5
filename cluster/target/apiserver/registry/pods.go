package registry

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/model"
)

// etcd keys are StoragePrefix, ResourcePrefix, namespace and name.
const (
	StoragePrefix  = "/registry"
	ResourcePrefix = "/pods"
)

// The fields that selectors can use, as the API names them.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
	nodeField      = "spec.nodeName"
)

// PodResource is the resource's name in errors and metrics.
var PodResource = schema.GroupResource{Resource: "pods"}

// scheme contains only the core group. Building client-go's scheme, with all groups,
// would take longer than a run.
var scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return scheme
}()

// podSerializer and PodCodec store pods as kube-apiserver does by default: as v1 in
// protobuf.
var (
	podSerializer = protobuf.NewSerializer(scheme, scheme)
	PodCodec      = serializer.NewCodecFactory(scheme).CodecForVersions(
		podSerializer, podSerializer, corev1.SchemeGroupVersion, corev1.SchemeGroupVersion)
)

// NewPod and NewPodList return objects for the storage to decode into.
func NewPod() runtime.Object     { return &corev1.Pod{} }
func NewPodList() runtime.Object { return &corev1.PodList{} }

// PodOf returns the pod that represents an object. The value is in the status message,
// which the API server does not interpret.
func PodOf(object *model.Object) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace,
			Name:      object.Name,
			Labels:    maps.Clone(object.Labels),
			UID:       types.UID(object.UID),
		},
		Spec:   corev1.PodSpec{NodeName: object.Node},
		Status: corev1.PodStatus{Message: object.Value},
	}
	if object.Labels[model.FinalizingLabel] != "" {
		pod.Finalizers, pod.DeletionTimestamp = []string{finalizer}, &deletedAt
	}
	return pod
}

// finalizer is the finalizer of terminating pods, and deletedAt their deletionTimestamp, whose
// value does not matter.
const finalizer = "watchsim/finalizer"

var deletedAt = metav1.Unix(1, 0)

// paddingKey is the annotation that makes pods larger.
const paddingKey = "watchsim/padding"

// PaddedPodOf is PodOf with an annotation of the given number of bytes, which no reader uses.
func PaddedPodOf(object *model.Object, bytes int) *corev1.Pod {
	pod := PodOf(object)
	if bytes > 0 {
		pod.Annotations = map[string]string{paddingKey: strings.Repeat("x", bytes)}
	}
	return pod
}

// ObjectOf returns the object that a pod represents. It shares no memory with the pod,
// which may belong to the cache.
func ObjectOf(pod *corev1.Pod) model.Object {
	return model.Object{
		Namespace: pod.Namespace,
		Name:      pod.Name,
		Labels:    maps.Clone(pod.Labels),
		Node:      pod.Spec.NodeName,
		Value:     pod.Status.Message,
		UID:       string(pod.UID),
		RV:        ParseRV(pod.ResourceVersion),
	}
}

// StoredPodOf returns the pod of an object that was read.
func StoredPodOf(object *model.Object) *corev1.Pod {
	pod := PodOf(object)
	pod.ResourceVersion = FormatRV(object.RV)
	return pod
}

// Decode turns a stored value into an object whose RV is zero.
func Decode(key string, value []byte) (model.Object, error) {
	var pod corev1.Pod
	if _, _, err := podSerializer.Decode(value, nil, &pod); err != nil {
		return model.Object{}, fmt.Errorf("%s is not a pod: %w", key, err)
	}
	return ObjectOf(&pod), nil
}

// FormatRV formats a resourceVersion for requests and responses. The RV of an object
// that is not stored yet is 0.
func FormatRV(rv int64) string {
	if rv == model.RVUnset {
		return ""
	}
	return strconv.FormatInt(rv, 10)
}

// ParseRV is the inverse of [FormatRV]. It returns 0 for anything that is not a number.
func ParseRV(rv string) int64 {
	parsed, err := strconv.ParseInt(rv, 10, 64)
	if err != nil {
		return 0
	}
	return parsed
}

// KeyOf returns the storage key of a scope: of one pod, or the prefix of several.
func KeyOf(scope model.Scope) string {
	switch {
	case scope.Namespace == "":
		return ResourcePrefix
	case scope.Name == "":
		return ResourcePrefix + "/" + scope.Namespace
	default:
		return ResourcePrefix + "/" + scope.Namespace + "/" + scope.Name
	}
}

// PodKey returns the storage key of a pod.
func PodKey(object runtime.Object) (string, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	return ResourcePrefix + "/" + accessor.GetNamespace() + "/" + accessor.GetName(), nil
}

// PodAttributes returns the labels and fields that selectors match.
func PodAttributes(object runtime.Object) (labels.Set, fields.Set, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, nil, fmt.Errorf("expected a pod, found %T", object)
	}
	return labels.Set(pod.Labels), fields.Set{
		nameField:      pod.Name,
		namespaceField: pod.Namespace,
		nodeField:      pod.Spec.NodeName,
	}, nil
}

// podTriggers lets the cacher dispatch an event only to watches of its node.
// podIndexers lets it list one node's pods directly. The pod registry has the same two.
var podTriggers = storage.IndexerFuncs{
	nodeField: func(object runtime.Object) string { return object.(*corev1.Pod).Spec.NodeName },
}

var podIndexers = cache.Indexers{
	storage.FieldIndex(nodeField): func(object any) ([]string, error) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("expected a pod, found %T", object)
		}
		return []string{pod.Spec.NodeName}, nil
	},
}

// CacherConfig returns the settings that kube-apiserver passes to the Cacher of pods over a storage.
func CacherConfig(inner storage.Interface) cacher.Config {
	return cacher.Config{
		Storage:        inner,
		Versioner:      storage.APIObjectVersioner{},
		GroupResource:  PodResource,
		ResourcePrefix: ResourcePrefix,
		KeyFunc:        PodKey,
		GetAttrsFunc:   PodAttributes,
		IndexerFuncs:   podTriggers,
		Indexers:       &podIndexers,
		NewFunc:        NewPod,
		NewListFunc:    NewPodList,
		Codec:          PodCodec,
	}
}

// LabelSelector returns the label selector of a request.
func LabelSelector(selector model.Selector) labels.Selector {
	return labels.SelectorFromSet(selector.Labels)
}

// FieldSelector returns the field selector of a request. It includes the scope's name,
// as in client-go.
func FieldSelector(scope model.Scope, selector model.Selector) fields.Selector {
	set := fields.Set{}
	if scope.Name != "" {
		set[nameField] = scope.Name
	}
	if selector.Node != "" {
		set[nodeField] = selector.Node
	}
	return fields.SelectorFromSet(set)
}

// Predicate returns the pod registry's predicate for two selectors.
func Predicate(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{
		Label:       label,
		Field:       field,
		GetAttrs:    PodAttributes,
		IndexFields: []string{nodeField},
	}
}

// mutate does to a delivered pod what a careless consumer inside the API server could
// do: it overwrites its fields, including everything that the pod may share with the
// cache or other consumers. The cacher delivers copies, so this is harmless. mutate
// keeps the resourceVersion, because the handlers above the cache do set such fields on
// their pods.
//
// In Kubernetes, objects returned by lists and gets share memory with the cache, which
// is documented; nobody mutates them.
func mutate(pod *corev1.Pod, stream int) {
	mark := model.MutationMark(stream)
	for name := range pod.Labels {
		pod.Labels[name] = mark
	}
	pod.Spec.NodeName = mark
	pod.Status.Message = mark
}
