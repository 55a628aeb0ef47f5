// Finding 35: events of Services that the watch cache sends while they happen lack what the API server changes in Services that are read. The same version
// of a Service differs between a watch that was open when it was written, a later watch, and a get.
package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/kubernetes/pkg/apis/core"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/servicestore"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const name = "a"

func main() {
	services := servicestore.New(store.Options{Etcd: rig.StartEtcd()}, servicestore.InMemory())
	rig.Until(func() bool { return services.Storage.Storage.ReadinessCheck() == nil })
	created := rig.Value(servicestore.Create(servicestore.Context, services, name))
	before := created.ResourceVersion

	open := follow(services, before)
	updated := rig.Value(servicestore.Update(services, name, func(service *core.Service) {
		service.Spec.Type, service.Spec.ExternalName = core.ServiceTypeExternalName, "example.org"
		service.Spec.ClusterIP, service.Spec.ClusterIPs, service.Spec.IPFamilies, service.Spec.IPFamilyPolicy = "", nil, nil, nil
	}))
	live := received(open)
	later := received(follow(services, before))
	read := servicestore.Get(services, name)

	report("the update returns", updated)
	report("a get returns", read)
	report("a watch that began after the update receives", later)
	report("a watch that was open receives", live)
	rig.VerdictOfOne(policy(live) != policy(read), "a watch receives another internalTrafficPolicy than a get of the same resourceVersion")
}

// follow watches Services from a resourceVersion.
func follow(services *servicestorage.REST, resourceVersion string) watch.Interface {
	return rig.Value(services.Watch(servicestore.Context, &internalversion.ListOptions{ResourceVersion: resourceVersion}))
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
