//go:build watchsim

package simtest_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/simtest"
)

// resource is a resource for which each controller has an informer.
type resource struct {
	schema.GroupVersionResource
	kind string
}

var watched = []resource{
	{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod"},
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap"},
	{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret"},
	{schema.GroupVersionResource{Version: "v1", Resource: "services"}, "Service"},
	{schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, "PersistentVolumeClaim"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, "ReplicaSet"},
	{schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "Job"},
	{schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, "Lease"},
	{schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}, "EndpointSlice"},
}

// counted counts the requests of clients, and the answers.
type counted struct {
	Requests, Lists, Watches, Streams int // streams begin with the state: streaming lists
	TooMany, Expired                  int // answers with the code 429, and with 410
	Unavailable                       int // answers with the code 503
}

// counter counts the requests of all clients once it is on.
type counter struct {
	on bool
	mu sync.Mutex
	counted
}

// answered counts a request.
func (c *counter) answered(request *http.Request, response *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on || response == nil {
		return
	}
	c.Requests++
	switch query := request.URL.Query(); {
	case query.Get("watch") == "":
		c.Lists++
	case query.Get("sendInitialEvents") == "true":
		c.Streams++
	default:
		c.Watches++
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests:
		c.TooMany++
	case http.StatusGone:
		c.Expired++
	case http.StatusServiceUnavailable:
		c.Unavailable++
	}
}

// configOf configures a client with that user agent.
func configOf(name string, servers []string, first int, count *counter) *rest.Config {
	return &rest.Config{
		Host: httpserver.URL(servers[0]), TLSClientConfig: rest.TLSClientConfig{Insecure: true}, UserAgent: name, QPS: 1000, Burst: 2000,
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"},
		Dial:          simtest.DialInTurn(servers, first),
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(request)
				count.answered(request, response)
				return response, err
			})
		},
	}
}

// marker is the annotation of the write that shows that informers are current.
const marker = "after-the-restart"

// controller is a program with an informer for each watched resource, from the released client-go.
type controller struct {
	stores []cache.Store
	now    func() time.Duration
	mu     sync.Mutex
	told   []map[string]string // the version of each object that handlers were last told
	marked []time.Duration     // when handlers were told the marker
}

// run starts the informers.
func (c *controller) run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	c.told, c.marked = make([]map[string]string, len(watched)), make([]time.Duration, len(watched))
	for i, resource := range watched {
		generic, err := factory.ForResource(resource.GroupVersionResource)
		if err != nil {
			return err
		}
		c.told[i] = map[string]string{}
		tell := func(object any) {
			accessor, err := meta.Accessor(object)
			if err != nil {
				panic(err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.told[i][accessor.GetName()] = accessor.GetResourceVersion()
			if accessor.GetAnnotations()[marker] != "" && c.marked[i] == 0 {
				c.marked[i] = c.now()
			}
		}
		if _, err := generic.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }}); err != nil {
			return err
		}
		c.stores = append(c.stores, generic.Informer().GetStore())
	}
	factory.Start(ctx.Done())
	return nil
}

// full returns how many informers hold all objects of their resource.
func (c *controller) full() (count int) {
	for _, store := range c.stores {
		if len(store.ListKeys()) == objects {
			count++
		}
	}
	return count
}

// current returns when its informers were told the marker, for those that were.
func (c *controller) current() (at []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.marked {
		if one > 0 {
			at = append(at, one)
		}
	}
	return at
}

// check compares the contents of informers, and what handlers were last told, with the newest
// versions of all objects, by resource and name.
func (c *controller) check(newest []map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, store := range c.stores {
		held := map[string]string{}
		for _, object := range store.List() {
			accessor, err := meta.Accessor(object)
			if err != nil {
				return err
			}
			held[accessor.GetName()] = accessor.GetResourceVersion()
		}
		if !maps.Equal(held, newest[i]) || !maps.Equal(c.told[i], newest[i]) {
			return fmt.Errorf("expected an informer of %s to hold and to have told %v, found %v and %v", watched[i].Resource, newest[i], held, c.told[i])
		}
	}
	return nil
}
