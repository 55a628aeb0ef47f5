package server

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// watchGracePeriod is how long a stopping server waits for its watches to end. Setting it also
// makes the server end them at once, not when the clients hang up.
const watchGracePeriod = 10 * time.Second

// Server is an API server that listens. Run makes it serve.
type Server struct {
	generic *genericapiserver.GenericAPIServer
}

// Run serves according to the options until ctx is done, with etcd in the process if they say so.
func Run(ctx context.Context, o *Options) error {
	o.Complete()
	if err := o.Validate(); err != nil {
		return err
	}
	if o.embedsEtcd() {
		etcd, err := StartEtcd()
		if err != nil {
			return err
		}
		defer etcd.Stop()
		o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{etcd.Endpoint()}
	}
	server, err := New(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "serving https://%s/apis/%s/%s with watch cache %s\n", server.Address(), v1.GroupVersion, v1.Resource.Resource, o.WatchCache)
	return server.Run(ctx)
}

// New returns a server for completed and valid options, which name etcd's addresses.
func New(o *Options) (*Server, error) {
	sizes, err := parseSizes(o.WatchCacheSizes)
	if err != nil {
		return nil, err
	}
	recommended := *o.Recommended
	if o.Standalone {
		recommended = withoutKubernetes(recommended)
	}
	if err := listen(recommended.SecureServing.SecureServingOptions); err != nil {
		return nil, err
	}
	config := genericapiserver.NewRecommendedConfig(codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.ShutdownWatchTerminationGracePeriod = watchGracePeriod
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(describe, openapinamer.NewDefinitionNamer(scheme))
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(describe, openapinamer.NewDefinitionNamer(scheme))
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = "Widgets", "Widgets"
	if err := recommended.ApplyTo(config); err != nil {
		return nil, err
	}
	if o.Standalone {
		admitEverybody(config)
	}
	config.RESTOptionsGetter = decorated{config.RESTOptionsGetter, o.WatchCache, sizes}
	generic, err := config.Complete().New("widgets", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	widgets, err := newWidgetStore(config.RESTOptionsGetter)
	if err != nil {
		return nil, err
	}
	group := genericapiserver.NewDefaultAPIGroupInfo(v1.GroupVersion.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
	group.VersionedResourcesStorageMap[v1.GroupVersion.Version] = map[string]rest.Storage{v1.Resource.Resource: widgets}
	if err := generic.InstallAPIGroup(&group); err != nil {
		widgets.Destroy()
		return nil, err
	}
	return &Server{generic: generic}, nil
}

// Run serves until ctx is done. Then it ends the watches, completes requests in flight, stops the
// cache and closes its connections to etcd.
func (s *Server) Run(ctx context.Context) error {
	return s.generic.PrepareRun().RunWithContext(ctx)
}

// Address is the host and port of the server.
func (s *Server) Address() string { return s.generic.SecureServingInfo.Listener.Addr().String() }

// listen opens the port of a server, unless options already have a listener, and makes a
// certificate if they have none.
func listen(options *genericoptions.SecureServingOptions) error {
	if options.Listener == nil {
		address := net.JoinHostPort(options.BindAddress.String(), strconv.Itoa(options.BindPort))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("expected a free port in --secure-port: %w", err)
		}
		options.Listener = listener
	}
	return options.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)})
}

var (
	scheme = newScheme()
	codecs = serializer.NewCodecFactory(scheme)
	// storageCodec encodes widgets in etcd: as JSON of version v1.
	storageCodec = codecs.LegacyCodec(v1.GroupVersion)
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1.AddToScheme(scheme))
	// The registry works on the internal version of a type. As there is only v1, the
	// same Go type serves for both, and nothing is ever converted.
	internal := schema.GroupVersion{Group: v1.GroupVersion.Group, Version: runtime.APIVersionInternal}
	scheme.AddKnownTypes(internal, &v1.Widget{}, &v1.WidgetList{})
	utilruntime.Must(scheme.SetVersionPriority(v1.GroupVersion))

	// The responses of every API server, and its request options.
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroup{}, &metav1.APIGroupList{}, &metav1.APIResourceList{})
	return scheme
}
