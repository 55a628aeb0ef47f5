// Finding 34: an update that makes a Service give up its cluster IP and node port releases them before it is written. If it is then refused because
// somebody else has changed the Service, the Service keeps both, and other Services get them as well.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
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

var ctx = genericrequest.WithRequestInfo(genericrequest.WithNamespace(context.Background(), metav1.NamespaceDefault), &genericrequest.RequestInfo{APIVersion: "v1", Resource: "services"})

func main() {
	services, store := serviceStorage(rig.StartEtcd())
	changeLabel := func(name string) {
		_, err := update(services, name, func(s *core.Service) { s.Labels = map[string]string{"changed": "yes"} })
		rig.Must(err)
	}

	rig.Must(create(services, "a1", "10.0.0.10", 30010))
	rig.Must(toExternalName(services, "a1", get(services, "a1").ResourceVersion))
	rig.Must(create(services, "a2", "10.0.0.10", 30010))
	fmt.Printf("without another writer, the update succeeds: %s; then %s is created\n", of(services, "a1"), of(services, "a2"))

	rig.Must(create(services, "b1", "10.0.0.20", 30020))
	read := get(services, "b1")
	store.meanwhile = func() { changeLabel("b1") }
	if err := toExternalName(services, "b1", read.ResourceVersion); !apierrors.IsConflict(err) {
		rig.Must(fmt.Errorf("expected a conflict, found %v", err))
	}
	taken := create(services, "b2", "10.0.0.20", 30020)
	fmt.Printf("with another writer, the update is refused: %s; then %s is created\n", of(services, "b1"), of(services, "b2"))

	// A patch without a resourceVersion is retried instead, and releases again what another Service may have got since the first attempt.
	rig.Must(create(services, "c1", "10.0.0.30", 30030))
	store.meanwhile = func() {
		changeLabel("c1")
		_ = create(services, "c2", "10.0.0.30", 30030)
	}
	rig.Must(toExternalName(services, "c1", ""))
	_ = create(services, "c3", "10.0.0.30", 30030)
	fmt.Printf("a patch is retried: %s; %s is created between its attempts, and %s after it\n", of(services, "c1"), of(services, "c2"), of(services, "c3"))

	rig.VerdictOfOne(taken == nil, "a service keeps its cluster IP and node port, as the update that gave them up is refused, and another service gets them")
}

// interrupted is a storage in which somebody else can write between an update's decision and its transaction.
type interrupted struct {
	storage.Interface
	meanwhile func()
}

func (i *interrupted) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions, try storage.UpdateFunc, cached runtime.Object) error {
	return i.Interface.GuaranteedUpdate(ctx, key, out, ignoreNotFound, preconditions, func(existing runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
		updated, ttl, err := try(existing, meta)
		if meanwhile := i.meanwhile; meanwhile != nil {
			i.meanwhile = nil
			meanwhile()
		}
		return updated, ttl, err
	}, cached)
}

// serviceStorage returns the storage of Services, over etcd and with allocators in memory.
func serviceStorage(address string) (*servicestorage.REST, *interrupted) {
	config := storagebackend.NewDefaultConfig("/registry", legacyscheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion))
	config.Transport.ServerList = []string{"http://" + address}
	_, block, err := netutils.ParseCIDRSloppy("10.0.0.0/16")
	rig.Must(err)
	addresses, err := ipallocator.NewInMemory(block)
	rig.Must(err)
	ports, err := portallocator.NewInMemory(*utilnet.ParsePortRangeOrDie("30000-32767"))
	rig.Must(err)
	services, _, _, err := servicestorage.NewREST(generic.RESTOptions{
		StorageConfig: config.ForResource(schema.GroupResource{Resource: "services"}), ResourcePrefix: "/services", Decorator: generic.UndecoratedStorage,
		EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
	}, core.IPv4Protocol, map[core.IPFamily]ipallocator.Interface{core.IPv4Protocol: addresses}, ports, nil, nil, nil)
	rig.Must(err)
	store := &interrupted{Interface: services.Storage.Storage}
	services.Storage.Storage = store
	return services, store
}

// create creates a Service of type NodePort with the API server's defaults.
func create(services *servicestorage.REST, name, ip string, port int) error {
	service := servicetesting.MakeService(name, servicetesting.SetTypeNodePort, servicetesting.SetClusterIPs(ip), servicetesting.SetNodePorts(port))
	_, err := services.Create(ctx, service, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	return err
}

func get(services *servicestorage.REST, name string) *core.Service {
	found, err := services.Get(ctx, name, &metav1.GetOptions{})
	rig.Must(err)
	return found.(*core.Service)
}

// of describes a Service.
func of(services *servicestorage.REST, name string) string {
	if _, err := services.Get(ctx, name, &metav1.GetOptions{}); err != nil {
		return "no " + name
	}
	s := get(services, name).Spec
	if s.Type == core.ServiceTypeExternalName {
		return name + " without addresses"
	}
	return fmt.Sprintf("%s with %s and %d", name, s.ClusterIP, s.Ports[0].NodePort)
}

// toExternalName changes the type of a Service, if it still has the given resourceVersion, unless that is empty.
func toExternalName(services *servicestorage.REST, name, resourceVersion string) error {
	_, err := update(services, name, func(s *core.Service) {
		s.ResourceVersion = resourceVersion
		s.Spec = core.ServiceSpec{Type: core.ServiceTypeExternalName, ExternalName: "example.org", Ports: s.Spec.Ports, SessionAffinity: s.Spec.SessionAffinity}
		s.Spec.Ports[0].NodePort = 0
	})
	return err
}

func update(services *servicestorage.REST, name string, change func(*core.Service)) (runtime.Object, error) {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, existing runtime.Object) (runtime.Object, error) {
		changed := existing.DeepCopyObject().(*core.Service)
		change(changed)
		return changed, nil
	})
	updated, _, err := services.Update(ctx, name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return updated, err
}
