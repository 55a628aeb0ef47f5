package recorder

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Server is an API server to record.
type Server struct {
	// Name is its name in the history.
	Name   string
	Config *rest.Config
}

// Config says what to record.
type Config struct {
	Servers []Server
	// Resource is as for kubectl, such as pods or deployments.apps.
	Resource string
	// Namespace limits the recording to one namespace, if it is not empty.
	Namespace string
	// ProbeEvery is how often one client lists at resourceVersion 0 from each server in
	// turn, which shows whether one lags behind another; 0 for never.
	ProbeEvery time.Duration
	Options    Options
}

// probeTimeout is how long a probe may take.
const probeTimeout = 30 * time.Second

// Observation is a recording in progress.
type Observation struct {
	*Recorder
	stop context.CancelFunc
	all  sync.WaitGroup
}

// Start starts a recording: one informer for each server, and the probes. It lasts until
// ctx is done or Stop is called.
func Start(ctx context.Context, config Config) (*Observation, error) {
	if len(config.Servers) == 0 {
		return nil, fmt.Errorf("expected an API server to record, found none")
	}
	resource, err := find(config.Servers[0].Config, config.Resource)
	if err != nil {
		return nil, fmt.Errorf("expected %s to know the resource %q: %w", config.Servers[0].Name, config.Resource, err)
	}
	ctx, stop := context.WithCancel(ctx)
	o := &Observation{Recorder: New(resource.GroupResource().String(), config.Options), stop: stop}
	var probes []dynamic.Interface
	for _, server := range config.Servers {
		watcher, err := o.client(server, "watcher-of-"+server.Name)
		if err != nil {
			stop()
			return nil, err
		}
		probe, err := o.client(server, "prober")
		if err != nil {
			stop()
			return nil, err
		}
		probes = append(probes, probe)
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(watcher, 0, config.Namespace, nil)
		if err := factory.ForResource(resource).Informer().SetTransform(forget); err != nil {
			stop()
			return nil, err
		}
		factory.Start(ctx.Done())
		o.all.Go(func() {
			<-ctx.Done()
			factory.Shutdown()
		})
	}
	if config.ProbeEvery > 0 {
		o.all.Go(func() { probe(ctx, probes, resource, config.Namespace, config.ProbeEvery) })
	}
	return o, nil
}

// Stop ends the recording and waits until nothing more is recorded.
func (o *Observation) Stop() {
	o.stop()
	o.all.Wait()
}

// client returns a recorded client.
func (o *Observation) client(server Server, name string) (dynamic.Interface, error) {
	config := dynamic.ConfigFor(server.Config) // a copy
	config.Wrap(o.Wrap(server.Name, name))
	return dynamic.NewForConfig(config)
}

// forget keeps only the fields of an object that an informer needs.
func forget(object any) (any, error) {
	if whole, is := object.(*unstructured.Unstructured); is {
		kept := &unstructured.Unstructured{}
		kept.SetGroupVersionKind(whole.GroupVersionKind())
		kept.SetNamespace(whole.GetNamespace())
		kept.SetName(whole.GetName())
		kept.SetResourceVersion(whole.GetResourceVersion())
		return kept, nil
	}
	return object, nil
}

// find asks a server for its preferred version of a resource.
func find(config *rest.Config, name string) (schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	all, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return restmapper.NewDiscoveryRESTMapper(all).ResourceFor(schema.ParseGroupResource(name).WithVersion(""))
}

// probe repeatedly lists from all servers, one after the other. Failures are recorded as
// such.
func probe(ctx context.Context, clients []dynamic.Interface, resource schema.GroupVersionResource, namespace string, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		for _, client := range clients {
			limited, cancel := context.WithTimeout(ctx, probeTimeout)
			client.Resource(resource).Namespace(namespace).List(limited, metav1.ListOptions{ResourceVersion: "0"})
			cancel()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
