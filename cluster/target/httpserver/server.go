package httpserver

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/util/compatibility"
	clientrest "k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// Prefix is the prefix of all keys in etcd, as for kube-apiserver.
const Prefix = "/registry"

// watchGrace is how long a stopping server waits for its watches to end. Setting it also makes the
// server end them at once, instead of when their clients hang up.
const watchGrace = 10 * time.Second

// Options say how API servers differ from kube-apiserver's defaults, Cache excepted.
type Options struct {
	// Cache wraps the storage of each resource in a watch cache; nil means Kubernetes' own.
	Cache generic.StorageDecorator
	// EventTTL is how long etcd keeps an event, in whole seconds; 0 means one hour, as with --event-ttl.
	EventTTL time.Duration
	// Fair turns on priority and fairness as in kube-apiserver: 600 seats, and the flow schemas and priority
	// levels that it creates. A client whose user agent is the name of a service account is that service
	// account, and subject to them; all others are exempt.
	Fair bool
	// Work is how long, with Fair, a service account's request occupies one of a server's Processors, within
	// its seat: code itself takes no simulated time.
	Work time.Duration
}

// New returns API servers.
func New(options Options) target.Servers {
	apiserver.LogTo(nil)
	if options.Cache == nil {
		options.Cache = genericregistry.StorageWithCacher()
	}
	options.EventTTL = cmp.Or(options.EventTTL, time.Hour)
	return &servers{Options: options}
}

// NewKubernetes returns API servers with Kubernetes' own watch cache.
func NewKubernetes() target.Servers { return New(Options{}) }

// servers implements target.Servers.
type servers struct {
	Options
	encryption Encryption
}

// Encryption returns the servers' encryption at rest.
func (s *servers) Encryption() *Encryption { return &s.encryption }

func (*servers) Etcd() etcd.Release { return current.Release{} }
func (*servers) Prefix() string     { return Prefix + "/" }

// Decode cannot read a value without knowing its resource, so the object's name is the key, and its
// value the decrypted stored value.
func (*servers) Decode(key string, value []byte) (model.Object, error) {
	plain, err := Decrypt(key, value)
	return model.Object{Name: key, Value: string(plain)}, err
}

func (s *servers) Start(config target.ServerConfig) (target.Server, error) {
	own, err := s.options(config)
	if err != nil {
		return nil, fmt.Errorf("start API server %q: %w", config.Name, err)
	}
	generic, err := own.generic()
	if err != nil {
		return nil, fmt.Errorf("start API server %q: %w", config.Name, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &server{options: own, generic: generic, ctx: ctx, stop: stop, done: make(chan struct{})}, nil
}

// server is one API server. It implements target.Web.
type server struct {
	options *options
	generic *genericapiserver.GenericAPIServer
	ctx     context.Context
	stop    func()
	done    chan struct{}
	begun   atomic.Bool // it serves, or never will
}

func (s *server) Serve(listener net.Listener) {
	if !s.begun.CompareAndSwap(false, true) {
		return
	}
	defer close(s.done)
	s.options.listener.Listener = listener
	go Probe(s.ctx, s.options.transformers)
	if err := s.generic.PrepareRun().RunWithContext(s.ctx); err != nil {
		panic(fmt.Sprintf("API server %q: %v", s.options.name, err))
	}
}

// BreakWatch does nothing: faults break these servers' watches in etcd instead.
func (s *server) BreakWatch(faults.WatchEnd) {}

func (s *server) Stop() {
	defer s.options.unplug()
	s.stop()
	if s.begun.CompareAndSwap(false, true) {
		s.generic.Destroy()
		return
	}
	<-s.done
}

// options are the options of kube-apiserver that the simulation sets.
type options struct {
	Options
	name     string
	etcd     *genericoptions.EtcdOptions
	serving  *genericapiserver.SecureServingInfo
	listener *Listener
	unplug   func() // stops the KMS plugin
	// transformers are those of all resources, nil without encryption.
	transformers value.ResourceTransformers
}

func (s *servers) options(config target.ServerConfig) (*options, error) {
	o := &options{Options: s.Options, name: config.Name, listener: &Listener{}}
	recommended := genericoptions.NewRecommendedOptions(Prefix, storageCodec)
	o.etcd = recommended.Etcd
	o.etcd.StorageConfig.Transport.ServerList = config.Endpoints
	// Servers of one process share a compactor of etcd, and here all servers are in one.
	o.etcd.StorageConfig.CompactionInterval = config.Tuning.CompactInterval
	serving := recommended.SecureServing.SecureServingOptions
	serving.Listener = o.listener
	serving.ServerCert.CertDirectory = "" // keep the certificate in memory
	var err error
	if serving.ServerCert.GeneratedCert, err = Certificate(config); err != nil {
		return nil, err
	}
	if o.unplug, err = s.encryption.Configure(config, o.etcd); err != nil {
		return nil, err
	}
	return o, serving.ApplyTo(&o.serving)
}

// Certificate returns a server's certificate as a provider for its options.
func Certificate(config target.ServerConfig) (dynamiccertificates.CertKeyContentProvider, error) {
	certificate, err := config.Certificate()
	if err != nil {
		return nil, err
	}
	return dynamiccertificates.NewStaticCertKeyContent("certificate of "+config.Name, certificate.Chain, certificate.Key)
}

// Listener is a placeholder for the listener that a server gets when it serves. API servers insist
// on an IP address.
type Listener struct{ net.Listener }

// Port is the port of API servers.
const Port = 6443

// Addr implements net.Listener.
func (*Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: Port} }

// Close implements net.Listener.
func (l *Listener) Close() error {
	if l.Listener == nil {
		return nil
	}
	return l.Listener.Close()
}

// URL returns a server's URL for clients.
func URL(server string) string { return fmt.Sprintf("https://%s:%d", server, Port) }

// generic returns the server with all its resources.
func (o *options) generic() (*genericapiserver.GenericAPIServer, error) {
	config, err := o.config(codecs, storageCodec)
	if err != nil {
		return nil, err
	}
	custom, err := o.config(apiextensions.Codecs, customCodec)
	if err != nil {
		return nil, err
	}
	extensions, err := o.extensions(custom, o.Cache)
	if err != nil {
		return nil, err
	}
	served := builtin
	if o.Fair {
		served = slices.Concat(builtin, fairness)
		if err := beFair(config, o.Work); err != nil {
			return nil, err
		}
	}
	config.RESTOptionsGetter = decorated{config.RESTOptionsGetter, o.Cache}
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(describe, openapinamer.NewDefinitionNamer(scheme))
	config.SkipOpenAPIInstallation = true
	generic, err := config.Complete().New("simulated", extensions)
	if err != nil {
		return nil, err
	}
	for _, group := range groups(served) {
		info := genericapiserver.NewDefaultAPIGroupInfo(group.name, scheme, apiruntime.NewParameterCodec(scheme), codecs)
		for version, resources := range group.versions {
			storages := map[string]rest.Storage{}
			for _, r := range resources {
				if err := r.install(storages, config.RESTOptionsGetter, o.EventTTL); err != nil {
					return nil, err
				}
			}
			info.VersionedResourcesStorageMap[version] = storages
		}
		install := generic.InstallAPIGroup
		if group.name == "" {
			install = func(info *genericapiserver.APIGroupInfo) error {
				return generic.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, info)
			}
		}
		if err := install(&info); err != nil {
			return nil, err
		}
	}
	return generic, nil
}

// config returns the configuration of one of the server's two parts: built-in or custom resources.
func (o *options) config(codecs serializer.CodecFactory, stored apiruntime.Codec) (*genericapiserver.RecommendedConfig, error) {
	config := genericapiserver.NewRecommendedConfig(codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.ShutdownWatchTerminationGracePeriod = watchGrace
	etcd := *o.etcd
	etcd.StorageConfig.Codec = stored
	etcd.SkipHealthEndpoints = true              // unused, and both parts would have them
	config.ResourceTransformers = o.transformers // of the second part
	if err := etcd.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	o.transformers = config.ResourceTransformers
	config.SecureServing = o.serving
	// client-go caches connections for the whole process, unless a client has its own dialer. A new
	// life must not wait for those of a crashed one.
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	config.LoopbackClientConfig = &clientrest.Config{
		Host: URL(o.name), TLSClientConfig: clientrest.TLSClientConfig{Insecure: true}, QPS: -1, Dial: dialer.DialContext,
	}
	// Not anonymous: API servers close the HTTP/2 connections of anonymous clients after each request.
	config.Authentication.Authenticator = authenticator.RequestFunc(func(request *http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{
			Name: request.UserAgent(), Groups: groupsOf(request.UserAgent(), o.Fair),
		}}, true, nil
	})
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	config.EnableProfiling = false
	return config, nil
}

// decorated is a RESTOptionsGetter with another decorator, and with kube-apiserver's prefixes.
type decorated struct {
	generic.RESTOptionsGetter
	decorator generic.StorageDecorator
}

func (d decorated) GetRESTOptions(resource schema.GroupResource, example apiruntime.Object) (generic.RESTOptions, error) {
	options, err := d.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = d.decorator
	if under, is := storedElsewhere[resource.String()]; is {
		options.ResourcePrefix = under
	}
	return options, err
}
