// Finding 66: the garbage collector asks an API server for an owner, a custom object. This API server has not observed the definition of it yet, and answers 404, as
// for any unknown path. The collector takes the owner for absent, and deletes what it owns.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	over := store.Options{Etcd: rig.StartEtcd()}
	core := api.Over(over, api.Directly)
	var lagging sync.RWMutex // locked while the watches of the second API server stall
	served := connect(core, store.Custom(over, servers, func() {}))
	late := connect(core, store.Custom(over, servers, func() {
		lagging.RLock()
		defer lagging.RUnlock()
	}))
	lagging.Lock()
	took := store.Define(clientset.NewForConfigOrDie(served), group.Group)
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
	api.Namespace(kube, v.name)
	thing := &unstructured.Unstructured{}
	thing.SetGroupVersionKind(group.WithKind("Thing"))
	thing.SetName("owner")
	owner := rig.Value(things.Create(ctx, thing, metav1.CreateOptions{}))
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
		rig.Delete(claims, "other")
	}
	_, deleted := rig.Wait(10*time.Millisecond, patient, func() bool { return rig.Gone(claims, "data") })
	_, err := things.Get(ctx, "owner", metav1.GetOptions{})
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
		asked.Wrap(rig.After(func(request *http.Request, response *http.Response) {
			if response.StatusCode == http.StatusNotFound && strings.HasPrefix(request.URL.Path, "/apis/"+group.Group+"/") {
				response.StatusCode = http.StatusServiceUnavailable
			}
		}))
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
	return rig.Create(kube.CoreV1().PersistentVolumeClaims(space), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Spec: api.Claim(corev1.ReadWriteOnce),
	})
}

// connect returns a configuration of clients whose requests of custom resources, and of definitions, go to one API server, and all others to another.
func connect(core, custom *clientrest.Config) *clientrest.Config {
	config := clientrest.CopyConfig(core)
	host := strings.TrimPrefix(custom.Host, "http://")
	config.Wrap(rig.Wrap(func(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
		if strings.HasPrefix(request.URL.Path, "/apis/"+group.Group+"/") || strings.HasPrefix(request.URL.Path, "/apis/"+apiextensionsv1.GroupName+"/") {
			request = request.Clone(request.Context())
			request.URL.Host = host
		}
		return inner.RoundTrip(request)
	}))
	return config
}
