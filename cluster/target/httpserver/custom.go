package httpserver

import (
	"errors"
	"net/url"

	"go.opentelemetry.io/otel/trace/noop"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	extensionoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	extensionopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
)

// extensions returns the server of custom resources, to which the other one delegates what it does
// not serve itself.
func (o *options) extensions(config *genericapiserver.RecommendedConfig, decorator generic.StorageDecorator) (*genericapiserver.GenericAPIServer, error) {
	config.RESTOptionsGetter = decorated{config.RESTOptionsGetter, decorator}
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(extensionopenapi.GetOpenAPIDefinitions, openapinamer.NewDefinitionNamer(apiextensions.Scheme))
	config.SkipOpenAPIInstallation = true
	config.MergedResourceConfig = apiextensions.DefaultAPIResourceConfigSource()
	// A server that has just started does not know the definitions yet. Like kube-apiserver, it
	// then asks clients to retry: a 404 would mean that an object is deleted.
	notFound := notfoundhandler.New(config.Serializer, genericfilters.NoMuxAndDiscoveryIncompleteKey)
	made, err := (&apiextensions.Config{
		GenericConfig: config,
		ExtraConfig: apiextensions.ExtraConfig{
			CRDRESTOptionsGetter: decorated{
				extensionoptions.NewCRDRESTOptionsGetter(*o.etcd, config.ResourceTransformers, config.StorageObjectCountTracker), decorator,
			},
			MasterCount:         1,
			ServiceResolver:     noServices{},
			AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, noop.NewTracerProvider()),
		},
	}).Complete().New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, err
	}
	return made.GenericAPIServer, nil
}

// noServices makes conversion webhooks need a URL: nothing routes requests to a service.
type noServices struct{}

func (noServices) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return nil, errors.New("expected a webhook with a URL, found one in the service " + namespace + "/" + name + ", which nobody routes")
}

// customCodec encodes definitions of custom resources in etcd.
var customCodec = apiextensions.Codecs.LegacyCodec(apiextensions.Scheme.PrioritizedVersionsForGroup("apiextensions.k8s.io")...)
