// Finding 35: events of Services that the watch cache sends while they happen lack what the API server changes in Services that are read. The same version
// of a Service differs between a watch that was open when it was written, a later watch, and a get.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	servicetesting "k8s.io/kubernetes/pkg/api/service/testing"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"
	netutils "k8s.io/utils/net"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const name = "a"

var ctx = genericrequest.WithRequestInfo(genericrequest.WithNamespace(context.Background(), metav1.NamespaceDefault), &genericrequest.RequestInfo{APIVersion: "v1", Resource: "services"})

func main() {
	services := serviceStorage(rig.StartEtcd())
	created, err := services.Create(ctx, servicetesting.MakeService(name), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	rig.Must(err)
	before := created.(*core.Service).ResourceVersion

	open := follow(services, before)
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, existing runtime.Object) (runtime.Object, error) {
		service := existing.DeepCopyObject().(*core.Service)
		service.Spec.Type, service.Spec.ExternalName = core.ServiceTypeExternalName, "example.org"
		service.Spec.ClusterIP, service.Spec.ClusterIPs, service.Spec.IPFamilies, service.Spec.IPFamilyPolicy = "", nil, nil, nil
		return service, nil
	})
	updated, _, err := services.Update(ctx, name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	rig.Must(err)
	live := received(open)
	later := received(follow(services, before))
	read, err := services.Get(ctx, name, &metav1.GetOptions{})
	rig.Must(err)

	report("the update returns", updated)
	report("a get returns", read)
	report("a watch that began after the update receives", later)
	report("a watch that was open receives", live)
	rig.VerdictOfOne(policy(live) != policy(read), "a watch receives another internalTrafficPolicy than a get of the same resourceVersion")
}

// serviceStorage returns the storage of Services with its watch cache, over etcd and with allocators in memory.
func serviceStorage(address string) *servicestorage.REST {
	config := storagebackend.NewDefaultConfig("/registry", legacyscheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion))
	config.Transport.ServerList = []string{"http://" + address}
	_, block, err := netutils.ParseCIDRSloppy("10.0.0.0/16")
	rig.Must(err)
	addresses, err := ipallocator.NewInMemory(block)
	rig.Must(err)
	ports, err := portallocator.NewInMemory(*utilnet.ParsePortRangeOrDie("30000-32767"))
	rig.Must(err)
	services, _, _, err := servicestorage.NewREST(generic.RESTOptions{
		StorageConfig: config.ForResource(schema.GroupResource{Resource: "services"}), ResourcePrefix: "/services", Decorator: registry.StorageWithCacher(),
		EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
	}, core.IPv4Protocol, map[core.IPFamily]ipallocator.Interface{core.IPv4Protocol: addresses}, ports, nil, nil, nil)
	rig.Must(err)
	rig.Until(func() bool { return services.Storage.Storage.ReadinessCheck() == nil })
	return services
}

// follow watches Services from a resourceVersion.
func follow(services *servicestorage.REST, resourceVersion string) watch.Interface {
	w, err := services.Watch(ctx, &internalversion.ListOptions{ResourceVersion: resourceVersion})
	rig.Must(err)
	return w
}

// received returns the next object of a watch as a client receives it.
func received(w watch.Interface) runtime.Object {
	event := <-w.ResultChan()
	w.Stop()
	if event.Type != watch.Modified {
		rig.Must(fmt.Errorf("expected an update, found %s", event.Type))
	}
	if cacheable, ok := event.Object.(runtime.CacheableObject); ok {
		return cacheable.GetObject() // which is what the API server encodes
	}
	return event.Object
}

func report(what string, object runtime.Object) {
	service := object.(*core.Service)
	fmt.Printf("%s resourceVersion %s: type %s, internalTrafficPolicy %s\n", what, service.ResourceVersion, service.Spec.Type, policy(service))
}

// policy returns the internalTrafficPolicy of a Service.
func policy(object runtime.Object) string {
	if p := object.(*core.Service).Spec.InternalTrafficPolicy; p != nil {
		return string(*p)
	}
	return "none"
}
