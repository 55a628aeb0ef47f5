// Finding 34: an update that makes a Service give up its cluster IP and node port releases them before it is written. If it is then refused because
// somebody else has changed the Service, the Service keeps both, and other Services get them as well.
package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	servicetesting "k8s.io/kubernetes/pkg/api/service/testing"
	"k8s.io/kubernetes/pkg/apis/core"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/servicestore"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

func main() {
	services := servicestore.New(store.Options{Etcd: rig.StartEtcd(), Uncached: true}, servicestore.InMemory())
	busy := &interrupted{Interface: services.Storage.Storage}
	services.Storage.Storage = busy
	changeLabel := func(name string) {
		rig.Value(servicestore.Update(services, name, func(s *core.Service) { s.Labels = map[string]string{"changed": "yes"} }))
	}

	rig.Must(create(services, "a1", "10.0.0.10", 30010))
	rig.Must(toExternalName(services, "a1", servicestore.Get(services, "a1").ResourceVersion))
	rig.Must(create(services, "a2", "10.0.0.10", 30010))
	fmt.Printf("without another writer, the update succeeds: %s; then %s is created\n", of(services, "a1"), of(services, "a2"))

	rig.Must(create(services, "b1", "10.0.0.20", 30020))
	read := servicestore.Get(services, "b1")
	busy.meanwhile = func() { changeLabel("b1") }
	if err := toExternalName(services, "b1", read.ResourceVersion); !apierrors.IsConflict(err) {
		rig.Must(fmt.Errorf("expected a conflict, found %v", err))
	}
	taken := create(services, "b2", "10.0.0.20", 30020)
	fmt.Printf("with another writer, the update is refused: %s; then %s is created\n", of(services, "b1"), of(services, "b2"))

	// A patch without a resourceVersion is retried instead, and releases again what another Service may have got since the first attempt.
	rig.Must(create(services, "c1", "10.0.0.30", 30030))
	busy.meanwhile = func() {
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

// create creates a Service of type NodePort.
func create(services *servicestorage.REST, name, ip string, port int) error {
	_, err := servicestore.Create(servicestore.Context, services, name, servicetesting.SetTypeNodePort, servicetesting.SetClusterIPs(ip), servicetesting.SetNodePorts(port))
	return err
}

// of describes a Service.
func of(services *servicestorage.REST, name string) string {
	s := servicestore.Get(services, name)
	switch {
	case s == nil:
		return "no " + name
	case s.Spec.Type == core.ServiceTypeExternalName:
		return name + " without addresses"
	}
	return fmt.Sprintf("%s with %s and %d", name, s.Spec.ClusterIP, s.Spec.Ports[0].NodePort)
}

// toExternalName changes the type of a Service, if it still has the given resourceVersion, unless that is empty.
func toExternalName(services *servicestorage.REST, name, resourceVersion string) error {
	_, err := servicestore.Update(services, name, func(s *core.Service) {
		s.ResourceVersion = resourceVersion
		s.Spec = core.ServiceSpec{Type: core.ServiceTypeExternalName, ExternalName: "example.org", Ports: s.Spec.Ports, SessionAffinity: s.Spec.SessionAffinity}
		s.Spec.Ports[0].NodePort = 0
	})
	return err
}
