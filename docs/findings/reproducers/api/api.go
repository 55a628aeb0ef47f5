// Package api serves namespaces, pods, Services, EndpointSlices, ServiceAccounts, nodes, PersistentVolumes and their claims, Jobs, CronJobs, ReplicaSets,
// Deployments, StatefulSets, DaemonSets, ControllerRevisions and Leases with kube-apiserver's storage, validation and namespace admission over HTTP. It also
// runs kube-scheduler and controllers of kube-controller-manager.
package api

import (
	"net"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	kubelet "k8s.io/kubernetes/pkg/kubelet/client"
	revisions "k8s.io/kubernetes/pkg/registry/apps/controllerrevision/storage"
	daemonsets "k8s.io/kubernetes/pkg/registry/apps/daemonset/storage"
	deployments "k8s.io/kubernetes/pkg/registry/apps/deployment/storage"
	replicasets "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	statefulsets "k8s.io/kubernetes/pkg/registry/apps/statefulset/storage"
	cronjobs "k8s.io/kubernetes/pkg/registry/batch/cronjob/storage"
	jobs "k8s.io/kubernetes/pkg/registry/batch/job/storage"
	leases "k8s.io/kubernetes/pkg/registry/coordination/lease/storage"
	namespaces "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
	nodes "k8s.io/kubernetes/pkg/registry/core/node/storage"
	volumes "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	claims "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	pods "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	accounts "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"
	slices "k8s.io/kubernetes/pkg/registry/discovery/endpointslice/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/servicestore"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

// Start runs an API server over an etcd of its own, with some namespaces, and returns how clients connect to it, and a client.
func Start(spaces ...string) (*clientrest.Config, kubernetes.Interface) {
	config := Over(store.Options{Etcd: rig.StartEtcd()}, Directly)
	client := kubernetes.NewForConfigOrDie(config)
	for _, space := range spaces {
		Namespace(client, space)
	}
	return config, client
}

// Directly is for the argument through of [Over].
func Directly(address string) string { return address }

// Over runs an API server over an etcd. The informer of its admission connects to where through says, given the server's own address.
func Over(over store.Options, through func(address string) string) *clientrest.Config {
	listener := rig.Value(net.Listen("tcp", "127.0.0.1:0"))
	client := &clientrest.Config{Host: "http://" + listener.Addr().String(), QPS: -1}
	informing := &clientrest.Config{Host: "http://" + through(listener.Addr().String()), QPS: -1}
	informed := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(informing), 0)
	admission := rig.Value(lifecycle.NewLifecycle(sets.New[string]()))
	admission.SetExternalKubeClientSet(kubernetes.NewForConfigOrDie(client))
	admission.SetExternalKubeInformerFactory(informed)

	config := server.NewRecommendedConfig(legacyscheme.Codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.LoopbackClientConfig, config.ExternalAddress = client, listener.Addr().String()
	config.AdmissionControl = admission
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(describe, openapi.NewDefinitionNamer(legacyscheme.Scheme))
	config.SkipOpenAPIInstallation = true
	serving := rig.Value(config.Complete().New("api", server.NewEmptyDelegate()))

	space, spaceStatus, finalize, err := namespaces.NewREST(over)
	rig.Must(err)
	pod := rig.Value(pods.NewStorage(over, nil, nil, nil, nil))
	node := rig.Value(nodes.NewStorage(over, kubelet.KubeletClientConfig{PreferredAddressTypes: []string{string(corev1.NodeInternalIP)}}, nil))
	volume, volumeStatus, err := volumes.NewREST(over)
	rig.Must(err)
	claim, claimStatus, err := claims.NewREST(over)
	rig.Must(err)
	account := rig.Value(accounts.NewREST(over, nil, nil, nil, 0, nil, nil, nil, nil, nil, false, 0))
	replicas := rig.Value(replicasets.NewStorage(over))
	deployment := rig.Value(deployments.NewStorage(over))
	stateful := rig.Value(statefulsets.NewStorage(over))
	daemons, daemonsStatus, err := daemonsets.NewREST(over)
	rig.Must(err)
	revision := rig.Value(revisions.NewREST(over))
	job := rig.Value(jobs.NewStorage(over))
	cronJob, cronJobStatus, err := cronjobs.NewREST(over)
	rig.Must(err)
	lease := rig.Value(leases.NewREST(over))
	slice := rig.Value(slices.NewREST(over))
	core := group("", map[string]rest.Storage{
		"namespaces": space, "namespaces/status": spaceStatus, "namespaces/finalize": finalize,
		"pods": pod.Pod, "pods/status": pod.Status, "pods/binding": pod.Binding, "nodes": node.Node, "nodes/status": node.Status,
		"persistentvolumes": volume, "persistentvolumes/status": volumeStatus, "persistentvolumeclaims": claim, "persistentvolumeclaims/status": claimStatus,
		"serviceaccounts": account, "services": servicestore.New(over, servicestore.InMemory()),
	})
	rig.Must(serving.InstallLegacyAPIGroup(server.DefaultLegacyAPIPrefix, core))
	batch := group("batch", map[string]rest.Storage{"jobs": job.Job, "jobs/status": job.Status, "cronjobs": cronJob, "cronjobs/status": cronJobStatus})
	rig.Must(serving.InstallAPIGroup(batch))
	rig.Must(serving.InstallAPIGroup(group("apps", map[string]rest.Storage{
		"replicasets": replicas.ReplicaSet, "replicasets/status": replicas.Status, "deployments": deployment.Deployment, "deployments/status": deployment.Status,
		"statefulsets": stateful.StatefulSet, "statefulsets/status": stateful.Status, "daemonsets": daemons, "daemonsets/status": daemonsStatus,
		"controllerrevisions": revision,
	})))
	rig.Must(serving.InstallAPIGroup(group("coordination.k8s.io", map[string]rest.Storage{"leases": lease})))
	rig.Must(serving.InstallAPIGroup(group("discovery.k8s.io", map[string]rest.Storage{"endpointslices": slice})))
	go func() { rig.Must(http.Serve(listener, serving.Handler)) }()
	informed.Start(nil)
	informed.WaitForCacheSync(nil)
	return client
}

// group returns version 1 of an API group.
func group(name string, storage map[string]rest.Storage) *server.APIGroupInfo {
	info := server.NewDefaultAPIGroupInfo(name, legacyscheme.Scheme, legacyscheme.ParameterCodec, legacyscheme.Codecs)
	info.VersionedResourcesStorageMap["v1"] = storage
	return &info
}

// describe returns the OpenAPI definitions that a server insists on, without fields, which only server-side apply needs.
func describe(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := map[string]common.OpenAPIDefinition{}
	for _, object := range []runtime.Object{
		&corev1.Namespace{}, &corev1.Pod{}, &corev1.Binding{}, &corev1.ServiceAccount{}, &corev1.Node{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{},
		&batchv1.Job{}, &batchv1.CronJob{}, &appsv1.ReplicaSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &appsv1.ControllerRevision{},
		&coordinationv1.Lease{}, &corev1.Service{}, &discoveryv1.EndpointSlice{},
	} {
		var definition common.OpenAPIDefinition
		definition.Schema.Type = []string{"object"}
		definition.Schema.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		all[util.GetCanonicalTypeName(object)] = definition
	}
	return all
}

// Namespace creates a namespace.
func Namespace(client kubernetes.Interface, name string) {
	rig.Create(client.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// Claim returns the spec of a PersistentVolumeClaim of 1 GiB.
func Claim(mode corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeClaimSpec {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{mode}, Resources: corev1.VolumeResourceRequirements{Requests: size}}
}

// Node returns a node with room for some pods.
func Node(name string) *corev1.Node {
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("10")}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: all, Capacity: all}}
}
