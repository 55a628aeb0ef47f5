// Finding 58: definitions of custom resources are deleted that have not been used yet, so that the API server cannot list their instances at first. If its informer
// lags behind, its retry conflicts with its own writes, and it does not go on.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	names "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	serveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	count    = 30 // definitions
	lag      = 50 * time.Millisecond
	idle     = 10 * time.Second
	patience = time.Minute
)

var ctx = context.Background()

// variant is a number of API servers, whether somebody lists the instances of each definition before it is deleted, and how late their informers receive changes.
type variant struct {
	servers int
	used    bool
	lag     time.Duration
}

func main() {
	etcd := rig.StartEtcd()
	rig.Variants("deleted definitions are left, and no API server goes on,", []variant{
		{1, true, lag}, {2, true, lag}, {1, false, 0}, {1, false, lag}, {2, false, lag},
	}, func(v variant) (string, bool, bool) {
		return v.String(), !v.used, v.run(etcd) > 0
	})
}

func (v variant) String() string {
	used := "never used"
	if v.used {
		used = "used"
	}
	return fmt.Sprintf("API servers: %d, watches late by %v, deleted definitions whose resources were %s", v.servers, v.lag, used)
}

// run deletes definitions, and returns how many are not removed.
func (v variant) run(etcd string) (left int) {
	clients := make([]*clientset.Clientset, v.servers)
	for i := range clients {
		clients[i] = v.start(etcd)
	}
	definitions := clients[0].ApiextensionsV1().CustomResourceDefinitions()
	all(func(name string) {
		create(clients[0], name)
		for _, client := range clients {
			if v.used && !rig.Until(func() bool {
				return client.Discovery().RESTClient().Get().AbsPath("/apis", name+".example.com", "v1", "things").Do(ctx).Error() == nil
			}) {
				rig.Must(errors.New("instances cannot be listed"))
			}
		}
	})
	remaining := func() []apiextensionsv1.CustomResourceDefinition {
		list, err := definitions.List(ctx, metav1.ListOptions{})
		rig.Must(err)
		return list.Items
	}
	all(func(name string) { rig.Must(definitions.Delete(ctx, full(name), metav1.DeleteOptions{})) })
	// settle waits until no definition is left, or nobody has written any for a while.
	settle := func() []apiextensionsv1.CustomResourceDefinition {
		var left []apiextensionsv1.CustomResourceDefinition
		versions, since := "", time.Now()
		rig.Wait(100*time.Millisecond, patience, func() bool {
			left = remaining()
			now := ""
			for _, definition := range left {
				now += definition.ResourceVersion + " "
			}
			if now != versions {
				versions, since = now, time.Now()
			}
			return len(left) == 0 || time.Since(since) > idle
		})
		return left
	}
	stay := settle()
	what := fmt.Sprintf("%v: %d of %d are left", v, len(stay), count)
	if len(stay) > 0 {
		condition := apihelpers.FindCRDCondition(&stay[0], apiextensionsv1.Terminating)
		for _, definition := range stay {
			_, err := definitions.Patch(ctx, definition.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"changed":"yes"}}}`), metav1.PatchOptions{})
			if !apierrors.IsNotFound(err) {
				rig.Must(err)
			}
		}
		what += fmt.Sprintf(" after nobody has written them for %v (%s: %s), and %d after their annotations were changed", idle, condition.Reason, condition.Message, len(settle()))
	}
	fmt.Println(what)
	return len(stay)
}

// all does something for all definitions, ten at a time.
func all(do func(name string)) {
	var running sync.WaitGroup
	for worker := range 10 {
		running.Go(func() {
			for i := worker; i < count; i += 10 {
				do(fmt.Sprintf("group-%d", i))
			}
		})
	}
	running.Wait()
}

func full(name string) string { return "things." + name + ".example.com" }

// create creates a definition, and waits until it is established.
func create(client *clientset.Clientset, name string) {
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}}
	_, err := definitions.Create(ctx, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: full(name)},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: name + ".example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: schema}},
		},
	}, metav1.CreateOptions{})
	rig.Must(err)
	if _, established := rig.Wait(100*time.Millisecond, time.Minute, func() bool {
		created, err := definitions.Get(ctx, full(name), metav1.GetOptions{})
		rig.Must(err)
		return apihelpers.IsCRDConditionTrue(created, apiextensionsv1.Established)
	}); !established {
		rig.Must(errors.New("a definition is not established"))
	}
}

// start starts the API server for custom resources that is inside kube-apiserver, and returns a client of it. Its own watches lag behind.
func (v variant) start(etcd string) *clientset.Clientset {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	rig.Must(err)
	client := &clientrest.Config{Host: "http://" + listener.Addr().String(), QPS: -1}
	config := server.NewRecommendedConfig(apiserver.Codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.LoopbackClientConfig, config.ExternalAddress = clientrest.CopyConfig(client), listener.Addr().String()
	config.LoopbackClientConfig.Wrap(func(inner http.RoundTripper) http.RoundTripper { return lagging{inner, v.lag} })
	config.MergedResourceConfig = apiserver.DefaultAPIResourceConfigSource()
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, names.NewDefinitionNamer(apiserver.Scheme))
	over := serveroptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/"+v.String(), apiserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)))
	over.StorageConfig.Transport.ServerList = []string{"http://" + etcd}
	rig.Must(over.ApplyTo(&config.Config))
	custom := options.NewCRDRESTOptionsGetter(*over, config.ResourceTransformers, config.StorageObjectCountTracker)
	complete := (&apiserver.Config{GenericConfig: config, ExtraConfig: apiserver.ExtraConfig{CRDRESTOptionsGetter: custom, MasterCount: 1}}).Complete()
	serving, err := complete.New(server.NewEmptyDelegate())
	rig.Must(err)
	go func() { rig.Must(http.Serve(listener, serving.GenericAPIServer.Handler)) }()
	serving.GenericAPIServer.RunPostStartHooks(ctx)
	if !rig.Until(serving.Informers.Apiextensions().V1().CustomResourceDefinitions().Informer().HasSynced) {
		rig.Must(errors.New("the API server does not start"))
	}
	return clientset.NewForConfigOrDie(client)
}

// lagging are requests whose watches receive everything later.
type lagging struct {
	http.RoundTripper
	lag time.Duration
}

func (l lagging) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if err == nil && request.URL.Query().Has("watch") {
		response.Body = late{response.Body, l.lag}
	}
	return response, err
}

type late struct {
	io.ReadCloser
	lag time.Duration
}

func (l late) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	time.Sleep(l.lag)
	return n, err
}
