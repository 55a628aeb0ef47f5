// Finding 36: a client creates a Service that exists. The address that was allocated for it is released twice, by the API server's repair controller and by
// the create that is refused. If another Service gets the address in between, it loses it, and a third Service gets the same address.
package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/storage"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/servicestore"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

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

// cluster is the storage of Services over etcd, with the allocator and the repair controller of an API server.
type cluster struct {
	services   *servicestorage.REST
	storage    *interrupted
	allocation *servicestore.Allocation
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
	allocation := servicestore.StartAllocation("10.0.0.0/30", 2)
	services := servicestore.New(store.Options{Etcd: etcd, Prefix: prefix, Uncached: true}, allocation.Allocator)
	c := &cluster{services: services, storage: &interrupted{Interface: services.Storage.Storage}, allocation: allocation}
	services.Storage.Storage = c.storage
	return c
}

// create creates a Service, and lets the repair controller know.
func (c *cluster) create(name string) error {
	created, err := servicestore.Create(servicestore.Context, c.services, name)
	if err == nil {
		c.allocation.Tell(created)
	}
	return err
}

// tryToCreate creates a Service unless it exists, and retries for two seconds while there is no address.
func (c *cluster) tryToCreate(name string) {
	for began := time.Now(); c.address(name) == "none" && time.Since(began) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		_ = c.create(name)
	}
}

// address is the cluster IP of a Service.
func (c *cluster) address(name string) string {
	if found := servicestore.Get(c.services, name); found != nil {
		return found.Spec.ClusterIP
	}
	return "none"
}
