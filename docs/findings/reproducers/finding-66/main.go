// Finding 66: the garbage collector asks an API server for an owner, a custom object. This API server has not observed the definition of it yet, and answers 404, as
// for any unknown path. The collector takes the owner for absent, and deletes what it owns.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	names "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	serveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	clientrest "k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	servers = 2
	// patient is how long the collector may take to delete what it takes for garbage, which is milliseconds.
	patient = 5 * time.Second
)

var (
	ctx   = context.Background()
	group = schema.GroupVersion{Group: "example.com", Version: "v1"}
)

// variant is how the collector comes to ask for the owner of a claim, and what it gets.
type variant struct {
	name string
	// lagging is set if it asks the API server that has not observed the definition, and unavailable if this answers 503 in place of 404.
	lagging, unavailable bool
	// absent is set if the owner does not exist.
	absent bool
	// monitored is set if the collector has informers for the owner's resource. Then it looks at the claim as another owner of it is deleted.
	monitored bool
}

var variants = []variant{
	{name: "new-served"},
	{name: "new-absent", absent: true},
	{name: "new-503", lagging: true, unavailable: true},
	{name: "new-404", lagging: true},
	{name: "other-owner-served", monitored: true},
	{name: "other-owner-503", monitored: true, lagging: true, unavailable: true},
	{name: "other-owner-404", monitored: true, lagging: true},
}

func main() {
	etcd := rig.StartEtcd()
	core := api.Over(store.Options{Etcd: etcd}, api.Directly)
	var current, lagging sync.RWMutex // locked while watches of an API server stall
	served := connect(core, start(etcd, &current))
	late := connect(core, start(etcd, &lagging))
	lagging.Lock()
	took := define(served)
	fmt.Printf("the definition is established after %v\n", took.Round(time.Second))
	_, err := metadata.NewForConfigOrDie(late).Resource(group.WithResource("things")).Namespace("any").Get(ctx, "owner", metav1.GetOptions{})
	fmt.Printf("an API server whose watches stall answers: %v (NotFound: %v, unexpected: %v)\n", err, apierrors.IsNotFound(err), apierrors.IsUnexpectedServerError(err))
	rig.Variants("the garbage collector deletes a claim whose owner exists", variants, func(v variant) (string, bool, bool) {
		return v.name, v.lagging && !v.unavailable, v.run(served, late)
	})
}

// run returns whether the collector deletes a claim whose owner exists.
func (v variant) run(served, late *clientrest.Config) bool {
	kube, things := kubernetes.NewForConfigOrDie(served), dynamic.NewForConfigOrDie(served).Resource(group.WithResource("things")).Namespace(v.name)
	_, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.name}}, metav1.CreateOptions{})
	rig.Must(err)
	thing := &unstructured.Unstructured{}
	thing.SetGroupVersionKind(group.WithKind("Thing"))
	thing.SetName("owner")
	owner, err := things.Create(ctx, thing, metav1.CreateOptions{})
	rig.Must(err)
	if v.absent {
		rig.Must(things.Delete(ctx, "owner", metav1.DeleteOptions{}))
	}
	claims := kube.CoreV1().PersistentVolumeClaims(v.name)
	owners := []metav1.OwnerReference{{APIVersion: group.String(), Kind: "Thing", Name: "owner", UID: owner.GetUID()}}
	stop := v.collect(served, late)
	defer stop()
	if v.monitored {
		other := create(kube, v.name, "other", nil)
		owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Name: "other", UID: other.UID})
	}
	create(kube, v.name, "data", owners)
	if v.monitored {
		time.Sleep(time.Second) // the collector observes both
		rig.Must(claims.Delete(ctx, "other", metav1.DeleteOptions{}))
	}
	_, deleted := rig.Wait(10*time.Millisecond, patient, func() bool {
		_, err := claims.Get(ctx, "data", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	_, err = things.Get(ctx, "owner", metav1.GetOptions{})
	fmt.Printf("%s: the claim is deleted: %v, its owner exists: %v\n", v.name, deleted, err == nil)
	if v.absent && !deleted {
		rig.Must(errors.New("the collector does not delete a claim whose owner is absent"))
	}
	return deleted && err == nil
}

// collect runs the collector over a namespace. Its informers, and the list of resources, are of the API server that serves all.
func (v variant) collect(served, late *clientrest.Config) (stop func()) {
	asked := served
	if v.lagging {
		asked = clientrest.CopyConfig(late)
	}
	if v.unavailable {
		asked.Wrap(func(inner http.RoundTripper) http.RoundTripper { return unavailable{inner} })
	}
	verbs := metav1.Verbs{"delete", "list", "watch"}
	resources := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "persistentvolumeclaims", Namespaced: true, Kind: "PersistentVolumeClaim", Verbs: verbs},
	}}}
	if v.monitored {
		resources = append(resources, &metav1.APIResourceList{GroupVersion: group.String(), APIResources: []metav1.APIResource{
			{Name: "things", Namespaced: true, Kind: "Thing", Verbs: verbs},
		}})
	}
	known := meta.NewDefaultRESTMapper(nil)
	known.Add(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), meta.RESTScopeNamespace)
	known.Add(group.WithKind("Thing"), meta.RESTScopeNamespace)
	informed := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(served), 0, v.name, nil)
	return collector.Given(metadata.NewForConfigOrDie(asked), known, resources, informed)
}

func create(kube kubernetes.Interface, space, name string, owners []metav1.OwnerReference) *corev1.PersistentVolumeClaim {
	claim, err := kube.CoreV1().PersistentVolumeClaims(space).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	rig.Must(err)
	return claim
}

// define creates a definition, and returns how long it takes until that is established.
func define(config *clientrest.Config) time.Duration {
	definitions := clientset.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
	_, err := definitions.Create(ctx, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: group.Version, Served: true, Storage: true, Schema: schema}},
		},
	}, metav1.CreateOptions{})
	rig.Must(err)
	took, established := rig.Wait(100*time.Millisecond, time.Minute, func() bool {
		created, err := definitions.Get(ctx, "things."+group.Group, metav1.GetOptions{})
		rig.Must(err)
		return apihelpers.IsCRDConditionTrue(created, apiextensionsv1.Established)
	})
	if !established {
		rig.Must(errors.New("the definition is not established"))
	}
	return took
}

// start starts the API server for custom resources that is inside kube-apiserver, and returns its host and port. While stalling is locked, its own watches receive
// nothing.
func start(etcd string, stalling *sync.RWMutex) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	rig.Must(err)
	config := server.NewRecommendedConfig(apiserver.Codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.ExternalAddress = listener.Addr().String()
	config.LoopbackClientConfig = &clientrest.Config{Host: "http://" + config.ExternalAddress, QPS: -1}
	config.LoopbackClientConfig.Wrap(func(inner http.RoundTripper) http.RoundTripper { return stalled{inner, stalling} })
	config.MergedResourceConfig = apiserver.DefaultAPIResourceConfigSource()
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, names.NewDefinitionNamer(apiserver.Scheme))
	over := serveroptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", apiserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)))
	over.StorageConfig.Transport.ServerList = []string{"http://" + etcd}
	rig.Must(over.ApplyTo(&config.Config))
	custom := options.NewCRDRESTOptionsGetter(*over, config.ResourceTransformers, config.StorageObjectCountTracker)
	complete := (&apiserver.Config{GenericConfig: config, ExtraConfig: apiserver.ExtraConfig{CRDRESTOptionsGetter: custom, MasterCount: servers}}).Complete()
	serving, err := complete.New(server.NewEmptyDelegate())
	rig.Must(err)
	go func() { rig.Must(http.Serve(listener, serving.GenericAPIServer.Handler)) }()
	serving.GenericAPIServer.RunPostStartHooks(ctx)
	if !rig.Until(serving.Informers.Apiextensions().V1().CustomResourceDefinitions().Informer().HasSynced) {
		rig.Must(errors.New("the API server does not start"))
	}
	return config.ExternalAddress
}

// connect returns a configuration of clients whose requests of custom resources, and of definitions, go to one API server, and all others to another.
func connect(core *clientrest.Config, custom string) *clientrest.Config {
	config := clientrest.CopyConfig(core)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return divided{inner, custom} })
	return config
}

type divided struct {
	http.RoundTripper
	custom string
}

func (d divided) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasPrefix(request.URL.Path, "/apis/"+group.Group+"/") || strings.HasPrefix(request.URL.Path, "/apis/"+apiextensionsv1.GroupName+"/") {
		request = request.Clone(request.Context())
		request.URL.Host = d.custom
	}
	return d.RoundTripper.RoundTrip(request)
}

// unavailable has 503 in place of 404 for custom resources.
type unavailable struct{ http.RoundTripper }

func (u unavailable) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := u.RoundTripper.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusNotFound && strings.HasPrefix(request.URL.Path, "/apis/"+group.Group+"/") {
		response.StatusCode = http.StatusServiceUnavailable
	}
	return response, err
}

// stalled are requests whose watches receive nothing while a lock is held.
type stalled struct {
	http.RoundTripper
	stalling *sync.RWMutex
}

func (s stalled) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(request)
	if err == nil && request.URL.Query().Has("watch") {
		response.Body = stream{response.Body, s.stalling}
	}
	return response, err
}

type stream struct {
	io.ReadCloser
	stalling *sync.RWMutex
}

func (s stream) Read(into []byte) (int, error) {
	n, err := s.ReadCloser.Read(into)
	s.stalling.RLock()
	defer s.stalling.RUnlock()
	return n, err
}
