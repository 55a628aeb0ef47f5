// Finding 36: a client creates a Service that exists. The address that was allocated for it is released twice, by the API server's repair controller and by
// the create that is refused. If another Service gets the address in between, it loses it, and a third Service gets the same address.
package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	servicetesting "k8s.io/kubernetes/pkg/api/service/testing"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator/controller"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

var ctx = genericrequest.WithRequestInfo(genericrequest.WithNamespace(context.Background(), metav1.NamespaceDefault), &genericrequest.RequestInfo{APIVersion: "v1", Resource: "services"})

func main() {
	address := rig.StartEtcd()
	round(address, "later", time.Second)
	rig.VerdictOfOne(round(address, "in the same second", 300*time.Millisecond), "two services have the same cluster IP")
}

// round creates Service a, after a while creates it again, which is refused, and creates b and c, for which there is one address. It reports whether both
// get it.
func round(etcd, when string, after time.Duration) bool {
	c := startCluster(etcd, "/"+string(uuid.NewUUID()))
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // so that the second does not end
	rig.Must(c.create("a"))
	time.Sleep(after) // so that the repair controller knows a
	// The create of a has its address now, and writes a next.
	c.storage.meanwhile = func() { c.tryToCreate("b") }
	if err := c.create("a"); !apierrors.IsAlreadyExists(err) {
		rig.Must(fmt.Errorf("expected that a exists, found %v", err))
	}
	during := c.address("b")
	c.tryToCreate("b")
	c.tryToCreate("c")
	fmt.Printf("a is created again %s, b has %s before this is refused; at last a has %s, b has %s, c has %s\n", when, during, c.address("a"), c.address("b"), c.address("c"))
	return c.address("b") == c.address("c")
}

// cluster is the storage of Services over etcd, with the allocator and the repair controller of an API server. IPAddresses are in a fake client.
type cluster struct {
	services *servicestorage.REST
	storage  *interrupted
	client   *fake.Clientset
}

// interrupted is a storage in which something else can happen before an object is created.
type interrupted struct {
	storage.Interface
	meanwhile func()
}

func (i *interrupted) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if meanwhile := i.meanwhile; meanwhile != nil {
		i.meanwhile = nil
		meanwhile()
	}
	return i.Interface.Create(ctx, key, obj, out, ttl)
}

func startCluster(etcd, prefix string) *cluster {
	// There are two addresses.
	client := fake.NewClientset(&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/30"}}})
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
	cidrs, addresses := factory.Networking().V1().ServiceCIDRs(), factory.Networking().V1().IPAddresses()
	allocator, err := ipallocator.NewMetaAllocator(client.NetworkingV1(), cidrs, addresses, false, nil)
	rig.Must(err)
	repair := controller.NewRepairIPAddress(3*time.Minute, client, factory.Core().V1().Services(), cidrs, addresses)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	running := make(chan struct{})
	go repair.RunUntil(func() { close(running) }, make(chan struct{}))
	<-running
	rig.Until(func() bool { return allocator.Free() == 2 })

	config := storagebackend.NewDefaultConfig(prefix, legacyscheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion))
	config.Transport.ServerList = []string{"http://" + etcd}
	services, _, _, err := servicestorage.NewREST(generic.RESTOptions{
		StorageConfig: config.ForResource(schema.GroupResource{Resource: "services"}), ResourcePrefix: "/services", Decorator: generic.UndecoratedStorage,
	}, core.IPv4Protocol, map[core.IPFamily]ipallocator.Interface{core.IPv4Protocol: allocator}, nil, nil, nil, nil)
	rig.Must(err)
	c := &cluster{services: services, storage: &interrupted{Interface: services.Storage.Storage}, client: client}
	services.Storage.Storage = c.storage
	return c
}

// create creates a Service, and lets the repair controller know.
func (c *cluster) create(name string) error {
	created, err := c.services.Create(ctx, servicetesting.MakeService(name), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		return err
	}
	known := &corev1.Service{}
	rig.Must(legacyscheme.Scheme.Convert(created, known, nil))
	return c.client.Tracker().Add(known)
}

// tryToCreate creates a Service unless it exists, and retries for two seconds while there is no address.
func (c *cluster) tryToCreate(name string) {
	for began := time.Now(); c.address(name) == "none" && time.Since(began) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		_ = c.create(name)
	}
}

// address is the cluster IP of a Service.
func (c *cluster) address(name string) string {
	found, err := c.services.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return "none"
	}
	return found.(*core.Service).Spec.ClusterIP
}
