// Finding 37: etcd stores a Service that is being created, and its answer is lost or late. The API server releases the cluster IP and node port of the
// Service, which has them, and another Service gets them as well.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
	servicetesting "k8s.io/kubernetes/pkg/api/service/testing"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/servicestore"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

// timeout is how long a request may take. The API server allows 34 seconds, or less if the client asks for less.
const timeout = 3 * time.Second

func main() {
	etcd := rig.StartEtcd()
	if round(etcd, "the answer of etcd arrives", (*rig.Relay).Release) {
		rig.Must(fmt.Errorf("both services have the same addresses although no answer was lost"))
	}
	seen := 0
	for _, lost := range []bool{
		round(etcd, "the connection to etcd breaks", func(relay *rig.Relay) { relay.Cut(); relay.Release() }),
		round(etcd, "the request times out", func(relay *rig.Relay) { time.AfterFunc(timeout, relay.Release) }),
	} {
		if lost {
			seen++
		}
	}
	rig.Verdict(seen, 2, "a service is stored, and another one gets its cluster IP and node port")
}

// round creates Service a. Something happens when etcd has stored it and has not answered yet. Then round tries to create b with the same cluster IP and node
// port, and reports whether both have them.
func round(etcd, what string, happens func(*rig.Relay)) bool {
	relay, prefix, allocation := rig.NewRelay(etcd), "/"+string(uuid.NewUUID()), servicestore.StartAllocation("10.0.0.0/24", 254)
	server := servicestore.New(store.Options{Etcd: relay.Address, Prefix: prefix, Uncached: true}, allocation.Allocator)
	other := servicestore.New(store.Options{Etcd: etcd, Prefix: prefix, Uncached: true}, allocation.Allocator) // whose connection is good
	create := func(name string) error {
		ctx, cancel := context.WithTimeout(servicestore.Context, timeout)
		defer cancel()
		_, err := servicestore.Create(ctx, server, name, servicetesting.SetTypeNodePort, servicetesting.SetClusterIPs("10.0.0.10"), servicetesting.SetNodePorts(30010))
		return err
	}

	servicestore.Get(server, "a") // which connects to etcd
	relay.Hold()
	created := make(chan error)
	go func() { created <- create("a") }()
	rig.Until(func() bool { return servicestore.Get(other, "a") != nil })
	allocation.Tell(servicestore.Get(other, "a"))
	time.Sleep(timeout / 10) // so that the repair controller knows a
	happens(relay)
	fmt.Printf("%s: creating a: %s; a has %s\n", what, result(<-created), of(other, "a"))

	fmt.Printf("    creating b: %s; b has %s\n", result(create("b")), of(other, "b"))
	if servicestore.Get(other, "b") == nil {
		return false
	}
	allocation.Tell(servicestore.Get(other, "b"))
	allocation.StartRepair() // which checks all Services, as others do every 3 minutes
	rig.Until(func() bool { return reported(allocation) != "" })
	fmt.Printf("    the repair controller: %q; a has %s, b has %s\n", reported(allocation), of(other, "a"), of(other, "b"))
	return of(other, "a") == of(other, "b")
}

// reported returns what the repair controller has reported about services that have the same cluster IP.
func reported(allocation *servicestore.Allocation) string {
	for _, action := range allocation.Client.Actions() {
		if created, is := action.(clienttesting.CreateAction); is {
			if event, is := created.GetObject().(*eventsv1.Event); is && strings.Contains(event.Note, "multiple services") {
				return event.Note
			}
		}
	}
	return ""
}

// of describes the addresses of a Service.
func of(storage *servicestorage.REST, name string) string {
	found := servicestore.Get(storage, name)
	if found == nil {
		return "none"
	}
	return fmt.Sprintf("%s and %d", found.Spec.ClusterIP, found.Spec.Ports[0].NodePort)
}

func result(err error) string {
	if err != nil {
		return err.Error()
	}
	return "done"
}
