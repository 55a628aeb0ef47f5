package httpserver

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
)

// resource is a built-in resource.
type resource struct {
	version schema.GroupVersion
	plural  string
	object  runtime.Object // an empty object, and an empty list
	list    runtime.Object
	global  bool // cluster-scoped
}

// builtin are the built-in resources: those that controllers usually own or read.
var builtin = []resource{
	{corev1.SchemeGroupVersion, "namespaces", &corev1.Namespace{}, &corev1.NamespaceList{}, true},
	{corev1.SchemeGroupVersion, "nodes", &corev1.Node{}, &corev1.NodeList{}, true},
	{corev1.SchemeGroupVersion, "pods", &corev1.Pod{}, &corev1.PodList{}, false},
	{corev1.SchemeGroupVersion, "configmaps", &corev1.ConfigMap{}, &corev1.ConfigMapList{}, false},
	{corev1.SchemeGroupVersion, "secrets", &corev1.Secret{}, &corev1.SecretList{}, false},
	{corev1.SchemeGroupVersion, "services", &corev1.Service{}, &corev1.ServiceList{}, false},
	{corev1.SchemeGroupVersion, "serviceaccounts", &corev1.ServiceAccount{}, &corev1.ServiceAccountList{}, false},
	{corev1.SchemeGroupVersion, "persistentvolumeclaims", &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{}, false},
	{corev1.SchemeGroupVersion, "persistentvolumes", &corev1.PersistentVolume{}, &corev1.PersistentVolumeList{}, true},
	{corev1.SchemeGroupVersion, "events", &corev1.Event{}, &corev1.EventList{}, false},
	{appsv1.SchemeGroupVersion, "deployments", &appsv1.Deployment{}, &appsv1.DeploymentList{}, false},
	{appsv1.SchemeGroupVersion, "replicasets", &appsv1.ReplicaSet{}, &appsv1.ReplicaSetList{}, false},
	{appsv1.SchemeGroupVersion, "statefulsets", &appsv1.StatefulSet{}, &appsv1.StatefulSetList{}, false},
	{appsv1.SchemeGroupVersion, "daemonsets", &appsv1.DaemonSet{}, &appsv1.DaemonSetList{}, false},
	{batchv1.SchemeGroupVersion, "jobs", &batchv1.Job{}, &batchv1.JobList{}, false},
	{batchv1.SchemeGroupVersion, "cronjobs", &batchv1.CronJob{}, &batchv1.CronJobList{}, false},
	{coordinationv1.SchemeGroupVersion, "leases", &coordinationv1.Lease{}, &coordinationv1.LeaseList{}, false},
	{discoveryv1.SchemeGroupVersion, "endpointslices", &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}, false},
	{eventsv1.SchemeGroupVersion, "events", &eventsv1.Event{}, &eventsv1.EventList{}, false},
	{networkingv1.SchemeGroupVersion, "ingresses", &networkingv1.Ingress{}, &networkingv1.IngressList{}, false},
	{policyv1.SchemeGroupVersion, "poddisruptionbudgets", &policyv1.PodDisruptionBudget{}, &policyv1.PodDisruptionBudgetList{}, false},
	{rbacv1.SchemeGroupVersion, "roles", &rbacv1.Role{}, &rbacv1.RoleList{}, false},
	{rbacv1.SchemeGroupVersion, "rolebindings", &rbacv1.RoleBinding{}, &rbacv1.RoleBindingList{}, false},
	{rbacv1.SchemeGroupVersion, "clusterroles", &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleList{}, true},
	{rbacv1.SchemeGroupVersion, "clusterrolebindings", &rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRoleBindingList{}, true},
	{storagev1.SchemeGroupVersion, "storageclasses", &storagev1.StorageClass{}, &storagev1.StorageClassList{}, true},
}

// storedElsewhere are the resources that kube-apiserver stores under another name: its
// SpecialDefaultResourcePrefixes. Tools that read etcd look for them there.
var storedElsewhere = map[string]string{"nodes": "minions", "services": "services/specs", "ingresses.networking.k8s.io": "ingress"}

// singular is the resource's singular name: its kind in lower case.
func (r resource) singular() string { return strings.ToLower(reflect.TypeOf(r.object).Elem().Name()) }

// group is an API group with its resources, by version.
type group struct {
	name     string
	versions map[string][]resource
}

// groups returns resources by group.
func groups(resources []resource) (all []group) {
	for _, r := range resources {
		at := slices.IndexFunc(all, func(g group) bool { return g.name == r.version.Group })
		if at < 0 {
			at = len(all)
			all = append(all, group{r.version.Group, map[string][]resource{}})
		}
		all[at].versions[r.version.Version] = append(all[at].versions[r.version.Version], r)
	}
	return all
}

var (
	scheme = newScheme()
	codecs = serializer.NewCodecFactory(scheme)
	// storageCodec encodes objects in etcd: as protobuf, like kube-apiserver's.
	storageCodec = newStorageCodec()
)

// newScheme returns the types of the built-in resources. The registry works on the internal version
// of a type. As each has one version, the same Go type serves for both, and nothing is ever
// converted.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, r := range slices.Concat(builtin, fairness) {
		internal := schema.GroupVersion{Group: r.version.Group, Version: runtime.APIVersionInternal}
		scheme.AddKnownTypes(r.version, r.object, r.list)
		scheme.AddKnownTypes(internal, r.object, r.list)
		metav1.AddToGroupVersion(scheme, r.version)
	}
	utilruntime.Must(scheme.AddFieldLabelConversionFunc(corev1.SchemeGroupVersion.WithKind("Pod"), podField))
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroup{}, &metav1.APIGroupList{}, &metav1.APIResourceList{})
	return scheme
}

func newStorageCodec() runtime.Codec {
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		panic("k8s.io/apimachinery has no serializer for protobuf")
	}
	var versions schema.GroupVersions
	for _, r := range slices.Concat(builtin, fairness) {
		if !slices.Contains(versions, r.version) {
			versions = append(versions, r.version)
		}
	}
	return runtime.NewCodec(codecs.EncoderForVersion(info.Serializer, versions),
		codecs.DecoderToVersion(codecs.UniversalDeserializer(), runtime.InternalGroupVersioner))
}

// describe returns the OpenAPI definitions of the built-in types, which server-side apply needs.
// The generated ones belong to kube-apiserver. These have no fields: apply deduces the fields from
// objects, and replaces lists as a whole.
func describe(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := map[string]common.OpenAPIDefinition{}
	for _, r := range slices.Concat(builtin, fairness) {
		var definition common.OpenAPIDefinition
		definition.Schema.Type = []string{"object"}
		definition.Schema.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		all[util.GetCanonicalTypeName(r.object)] = definition
	}
	return all
}
