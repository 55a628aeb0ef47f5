// Package collector runs the released garbage collector of kube-controller-manager over client-go's fake metadata client or an API server.
package collector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	fakemetadata "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space   = "red"
	patient = 10 * time.Second // collection takes milliseconds
)

var maps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Client returns a fake metadata client with the given objects, and a client that reads and writes them.
func Client(objects ...*metav1.PartialObjectMetadata) (*fakemetadata.FakeMetadataClient, fakemetadata.MetadataClient) {
	known := fakemetadata.NewTestScheme()
	rig.Must(metav1.AddMetaToScheme(known))
	client := fakemetadata.NewSimpleMetadataClient(known)
	has := client.Resource(maps).Namespace(space).(fakemetadata.MetadataClient)
	for _, o := range objects {
		rig.Value(has.CreateFake(o, metav1.CreateOptions{}))
	}
	return client, has
}

// ConfigMap returns an object, with a reference to an owner if one is given.
func ConfigMap(name string, uid types.UID, owner string, ownerUID types.UID) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, UID: uid},
	}
	if owner != "" {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: ownerUID}}
	}
	return o
}

// collected is the fate of an object that the garbage collector has deleted.
const collected = "collected"

// Fate waits for an object to be collected, and returns whether it was.
func Fate(objects metadata.ResourceInterface, name string) string {
	_, gone := rig.Wait(10*time.Millisecond, patient, func() bool {
		return !slices.ContainsFunc(rig.List(objects, "").Items, func(o metav1.PartialObjectMetadata) bool { return o.Name == name })
	})
	if gone {
		return collected
	}
	return fmt.Sprintf("still there after %v", patient)
}

// Conclude prints what becomes of an object before and after a restart of the collector. It exits with code 1 if the object stayed before it.
func Conclude(client metadata.Interface, objects metadata.ResourceInterface, stop func(), what, name string) {
	left := Fate(objects, name)
	fmt.Printf("%s: %s\n", what, left)
	stop()
	stop = Run(client)
	fmt.Printf("the same after a restart of the collector: %s\n", Fate(objects, name))
	stop()
	rig.VerdictOfOne(left != collected, "an object without an owner stays")
}

// Run runs the released garbage collector over ConfigMaps, and returns once it has listed them.
func Run(client metadata.Interface) (stop func()) {
	kube := fake.NewSimpleClientset()
	kube.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: maps.Resource, Namespaced: true, Kind: "ConfigMap", Verbs: metav1.Verbs{"delete", "list", "watch"}},
	}}}
	return run(kube, client, static, preferred{kube.Discovery(), kube.Resources}, metadatainformer.NewSharedInformerFactory(client, 0))
}

// Given runs the released garbage collector over the given resources. As in kube-controller-manager, its informers may have another client than the rest of it.
func Given(client metadata.Interface, known meta.RESTMapper, resources []*metav1.APIResourceList, informed metadatainformer.SharedInformerFactory) (stop func()) {
	kube := fake.NewSimpleClientset()
	return run(kube, client, known, preferred{kube.Discovery(), resources}, informed)
}

// Over runs the released garbage collector over all resources of an API server.
func Over(config *rest.Config) (stop func()) {
	kube := kubernetes.NewForConfigOrDie(config)
	client := metadata.NewForConfigOrDie(config)
	return run(kube, client, static, kube.Discovery(), metadatainformer.NewSharedInformerFactory(client, 0))
}

// static maps the kinds that are built in.
var static = testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)

func run(
	kube kubernetes.Interface, client metadata.Interface, known meta.RESTMapper, resources discovery.ServerResourcesInterface, informed metadatainformer.SharedInformerFactory,
) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan struct{})
	close(started)
	collector := rig.Value(garbagecollector.NewGarbageCollector(ctx, kube, client, mapper{known}, nil, only{informed}, started))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		collector.Run(ctx, 1, time.Second)
	}()
	go collector.Sync(ctx, resources, time.Second)
	rig.Until(func() bool { return collector.IsSynced(klog.Background()) })
	time.Sleep(time.Second) // the fake client loses events between its list and its watch, and the graph lags behind both
	return func() { cancel(); <-ended }
}

// only creates metadata informers for all resources.
type only struct {
	metadatainformer.SharedInformerFactory
}

func (f only) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return f.SharedInformerFactory.ForResource(resource), nil
}

// mapper is a RESTMapper that never needs a reset.
type mapper struct{ meta.RESTMapper }

func (mapper) Reset() {}

// preferred implements what client-go's fake leaves out.
type preferred struct {
	discovery.ServerResourcesInterface
	resources []*metav1.APIResourceList
}

func (p preferred) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return p.resources, nil
}
