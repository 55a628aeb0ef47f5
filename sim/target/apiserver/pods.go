package apiserver

import (
	"fmt"
	"maps"
	"strconv"

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
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/model"
)

// The fields by which pods can be selected here, as the API names them.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
	nodeField      = "spec.nodeName"
)

// podResource is the resource as it is named in errors and metrics.
var podResource = schema.GroupResource{Resource: "pods"}

// scheme knows the core group alone. Filling in client-go's, with all groups,
// would take longer than a run.
var scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return scheme
}()

// podSerializer and podCodec store pods as kube-apiserver does by default: in
// protobuf, as version v1.
var (
	podSerializer = protobuf.NewSerializer(scheme, scheme)
	podCodec      = serializer.NewCodecFactory(scheme).CodecForVersions(
		podSerializer, podSerializer, corev1.SchemeGroupVersion, corev1.SchemeGroupVersion)
)

func newPod() runtime.Object     { return &corev1.Pod{} }
func newPodList() runtime.Object { return &corev1.PodList{} }

// podOf is the pod that stands for an object. The value goes where the API
// server does not look: into the status message.
func podOf(object *model.Object) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace,
			Name:      object.Name,
			Labels:    maps.Clone(object.Labels),
			UID:       types.UID(object.UID),
		},
		Spec:   corev1.PodSpec{NodeName: object.Node},
		Status: corev1.PodStatus{Message: object.Value},
	}
}

// objectOf is the object a pod stands for. It shares nothing with the pod, which
// may be the cache's.
func objectOf(pod *corev1.Pod) model.Object {
	return model.Object{
		Namespace: pod.Namespace,
		Name:      pod.Name,
		Labels:    maps.Clone(pod.Labels),
		Node:      pod.Spec.NodeName,
		Value:     pod.Status.Message,
		UID:       string(pod.UID),
		RV:        parseRV(pod.ResourceVersion),
	}
}

// formatRV and parseRV convert resourceVersions as requests and responses carry
// them. What is not a number, and the RV of an object not stored yet, is 0.
func formatRV(rv int64) string {
	if rv == model.RVUnset {
		return ""
	}
	return strconv.FormatInt(rv, 10)
}

func parseRV(rv string) int64 {
	parsed, err := strconv.ParseInt(rv, 10, 64)
	if err != nil {
		return 0
	}
	return parsed
}

// podKey is the storage key of a pod.
func podKey(object runtime.Object) (string, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	return resourcePrefix + "/" + accessor.GetNamespace() + "/" + accessor.GetName(), nil
}

// podAttributes is what selectors look at.
func podAttributes(object runtime.Object) (labels.Set, fields.Set, error) {
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

// podTriggers lets the cacher dispatch an event only to watches of its node, and
// podIndexers list a node's pods without looking at others. The pod registry has
// the same two.
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

// labelSelector and fieldSelector are the selectors of a request. The scope's
// name is one of the fields, as it is for client-go.
func labelSelector(selector model.Selector) labels.Selector {
	return labels.SelectorFromSet(selector.Labels)
}

func fieldSelector(scope model.Scope, selector model.Selector) fields.Selector {
	set := fields.Set{}
	if scope.Name != "" {
		set[nameField] = scope.Name
	}
	if selector.Node != "" {
		set[nodeField] = selector.Node
	}
	return fields.SelectorFromSet(set)
}

// predicate is the pod registry's predicate for two selectors.
func predicate(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{
		Label:       label,
		Field:       field,
		GetAttrs:    podAttributes,
		IndexFields: []string{nodeField},
	}
}
