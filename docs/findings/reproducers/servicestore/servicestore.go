// Package servicestore provides the storage of Services and the allocators of cluster IPs as kube-apiserver wires them.
package servicestore

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	servicetesting "k8s.io/kubernetes/pkg/api/service/testing"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator/controller"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"
	netutils "k8s.io/utils/net"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

// Context is that of a request for Services of namespace "default".
var Context = store.Request(metav1.NamespaceDefault, "services")

// New returns the storage of Services with an allocator of cluster IPs. The allocator of node ports is in memory.
func New(options store.Options, addresses ipallocator.Interface) *servicestorage.REST {
	ports := rig.Value(portallocator.NewInMemory(*utilnet.ParsePortRangeOrDie("30000-32767")))
	families := map[core.IPFamily]ipallocator.Interface{core.IPv4Protocol: addresses}
	services, _, _, err := servicestorage.NewREST(options, core.IPv4Protocol, families, ports, nil, nil, nil)
	rig.Must(err)
	return services
}

// Create creates a Service with the API server's defaults.
func Create(ctx context.Context, services *servicestorage.REST, name string, tweaks ...servicetesting.Tweak) (*core.Service, error) {
	created, err := services.Create(ctx, servicetesting.MakeService(name, tweaks...), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return created.(*core.Service), nil
}

// Update changes a Service as a PATCH request does.
func Update(services *servicestorage.REST, name string, change func(*core.Service)) (*core.Service, error) {
	return store.Change(Context, services, name, change)
}

// Get returns a Service, nil if it is not stored.
func Get(services *servicestorage.REST, name string) *core.Service {
	found, err := services.Get(Context, name, &metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return found.(*core.Service)
}

// InMemory returns an allocator of the cluster IPs in 10.0.0.0/16.
func InMemory() ipallocator.Interface {
	_, block, err := netutils.ParseCIDRSloppy("10.0.0.0/16")
	rig.Must(err)
	return rig.Value(ipallocator.NewInMemory(block))
}

// Allocation is the allocator of cluster IPs of API servers and their repair controllers, with IPAddresses in a fake client.
type Allocation struct {
	Allocator *ipallocator.MetaAllocator // of this type, so that IPAddresses refer to their Services
	Client    *fake.Clientset
}

// StartAllocation starts an allocator for a range with a number of addresses, and a repair controller.
func StartAllocation(block string, size int) *Allocation {
	client := fake.NewClientset(&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{block}}})
	// As an API server does, and the fake client does not: creations set UIDs and times in seconds, and deletions have preconditions.
	client.PrependReactor("create", "ipaddresses", func(action clienttesting.Action) (bool, runtime.Object, error) {
		created := action.(clienttesting.CreateAction).GetObject().(*networkingv1.IPAddress)
		created.UID, created.CreationTimestamp = uuid.NewUUID(), metav1.Now().Rfc3339Copy()
		return false, nil, nil
	})
	client.PrependReactor("delete", "ipaddresses", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name, expected := action.(clienttesting.DeleteAction).GetName(), action.(clienttesting.DeleteAction).GetDeleteOptions().Preconditions
		found, err := client.Tracker().Get(action.GetResource(), "", name)
		if err == nil && expected != nil && *expected.UID != found.(*networkingv1.IPAddress).UID {
			return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), name, fmt.Errorf("the UID differs"))
		}
		return false, nil, nil
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	allocator := rig.Value(ipallocator.NewMetaAllocator(client.NetworkingV1(), factory.Networking().V1().ServiceCIDRs(), factory.Networking().V1().IPAddresses(), false, nil))
	factory.Start(context.Background().Done())
	rig.Until(func() bool { return allocator.Free() == size })
	a := &Allocation{allocator, client}
	a.StartRepair()
	return a
}

// StartRepair starts the repair controller of one more API server, and waits until it has checked everything once.
func (a *Allocation) StartRepair() {
	factory := informers.NewSharedInformerFactory(a.Client, 0)
	networking := factory.Networking().V1()
	repair := controller.NewRepairIPAddress(3*time.Minute, a.Client, factory.Core().V1().Services(), networking.ServiceCIDRs(), networking.IPAddresses())
	factory.Start(context.Background().Done())
	running := make(chan struct{})
	go repair.RunUntil(func() { close(running) }, make(chan struct{}))
	<-running
}

// Tell lets repair controllers know that a Service is stored.
func (a *Allocation) Tell(stored *core.Service) {
	known := &corev1.Service{}
	rig.Must(legacyscheme.Scheme.Convert(stored, known, nil))
	rig.Must(a.Client.Tracker().Add(known))
}
