package store

import (
	"context"
	"net"
	"net/http"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	names "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	serveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	clientrest "k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Custom runs the API server for custom resources that is inside kube-apiserver, as one of a number of servers, and returns how clients connect to it. When its own
// watches have received something, it calls received before it goes on. It is not in package api, with whose feature gates finding 58 shows less often.
func Custom(over Options, servers int, received func()) *clientrest.Config {
	ctx := context.Background()
	listener := rig.Value(net.Listen("tcp", "127.0.0.1:0"))
	client := &clientrest.Config{Host: "http://" + listener.Addr().String(), QPS: -1}
	config := server.NewRecommendedConfig(apiserver.Codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.LoopbackClientConfig, config.ExternalAddress = clientrest.CopyConfig(client), listener.Addr().String()
	config.LoopbackClientConfig.Wrap(rig.Watching(func(string) { received() }))
	config.MergedResourceConfig = apiserver.DefaultAPIResourceConfigSource()
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, names.NewDefinitionNamer(apiserver.Scheme))
	etcd := serveroptions.NewEtcdOptions(storagebackend.NewDefaultConfig(over.Root(), apiserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)))
	etcd.StorageConfig.Transport.ServerList = []string{"http://" + over.Etcd}
	rig.Must(etcd.ApplyTo(&config.Config))
	custom := options.NewCRDRESTOptionsGetter(*etcd, config.ResourceTransformers, config.StorageObjectCountTracker)
	complete := (&apiserver.Config{GenericConfig: config, ExtraConfig: apiserver.ExtraConfig{CRDRESTOptionsGetter: custom, MasterCount: servers}}).Complete()
	serving := rig.Value(complete.New(server.NewEmptyDelegate()))
	go func() { rig.Must(http.Serve(listener, serving.GenericAPIServer.Handler)) }()
	serving.GenericAPIServer.RunPostStartHooks(ctx)
	rig.Await(time.Millisecond, 10*time.Second, "the API server does not start", serving.Informers.Apiextensions().V1().CustomResourceDefinitions().Informer().HasSynced)
	return client
}

// Define creates the definition of the resource "things" in version 1 of a group, and returns how long it takes until that is established.
func Define(client clientset.Interface, group string) time.Duration {
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}
	created := rig.Create(definitions, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: schema}},
		},
	})
	return rig.Await(100*time.Millisecond, time.Minute, "a definition is not established", func() bool {
		defined := rig.Get(definitions, created.Name)
		return apihelpers.IsCRDConditionTrue(defined, apiextensionsv1.Established)
	})
}
