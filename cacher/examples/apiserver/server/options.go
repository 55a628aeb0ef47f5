package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// EmbeddedEtcd is the value of --etcd-servers that asks for a member of etcd in the
// process, which keeps nothing.
const EmbeddedEtcd = "embedded"

// etcdPrefix is the key in etcd below which everything of this server lies.
const etcdPrefix = "/registry/example.watchsim.dev"

// Options are what can be set about the server.
type Options struct {
	// Recommended are the options that API servers have.
	Recommended *genericoptions.RecommendedOptions
	// WatchCache is what serves lists and watches.
	WatchCache WatchCache
	// WatchCacheSizes are settings such as widgets#1000, in events. Kubernetes' cache
	// heeds only 0, which switches it off.
	WatchCacheSizes []string
	// Standalone lets everybody who can connect do everything, and allows only
	// connections from this machine.
	Standalone bool
	// Out is where Run says where it serves.
	Out io.Writer
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	o := &Options{
		Recommended: genericoptions.NewRecommendedOptions(etcdPrefix, storageCodec),
		WatchCache:  Watchsim,
		Out:         io.Discard,
	}
	o.Recommended.Etcd.StorageConfig.Transport.ServerList = nil
	serving := o.Recommended.SecureServing
	serving.BindAddress = nil // decided by Complete
	serving.BindPort = 8443
	serving.Required = false              // 0 is a free port
	serving.ServerCert.CertDirectory = "" // a certificate that lives in memory
	return o
}

// AddFlags makes flags of the options. Those that they share with kube-apiserver
// have the names that they have there.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.Var(&o.WatchCache, "watch-cache", "What serves lists and watches: watchsim, kubernetes (the cache of k8s.io/apiserver), or off.")
	flags.StringSliceVar(&o.WatchCacheSizes, "watch-cache-sizes", nil,
		"How many events the watch cache keeps at most, as in widgets#1000. 0 switches it off. Kubernetes' cache ignores any other number.")
	flags.BoolVar(&o.Standalone, "standalone", false,
		"For development on one machine, without a kube-apiserver: serves on a loopback address only, and lets everybody who can connect to it do everything. Without --etcd-servers, etcd runs in the process.")

	recommended := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Recommended.AddFlags(recommended)
	recommended.Lookup("etcd-servers").Usage += " " + EmbeddedEtcd + " runs one in the process, whose data goes when the process ends."
	recommended.Lookup("secure-port").Usage = "The port on which to serve HTTPS. 0 takes a free one, which is printed."
	recommended.Lookup("bind-address").DefValue = "0.0.0.0, or 127.0.0.1 with --standalone"
	recommended.Lookup("cert-dir").Usage += " If it is empty, the certificate is kept in memory."
	recommended.VisitAll(func(flag *pflag.Flag) {
		// Those of the caches are above: here they can do more.
		if flags.Lookup(flag.Name) == nil && flag.Name != "default-watch-cache-size" {
			flags.AddFlag(flag)
		}
	})
}

// Complete fills in what depends on other options. It may be called again.
func (o *Options) Complete() {
	serving, etcd := o.Recommended.SecureServing, &o.Recommended.Etcd.StorageConfig.Transport
	if serving.BindAddress == nil {
		serving.BindAddress = net.IPv4zero
		if o.Standalone {
			serving.BindAddress = net.IPv4(127, 0, 0, 1)
		}
	}
	if o.Standalone && len(etcd.ServerList) == 0 {
		etcd.ServerList = []string{EmbeddedEtcd}
	}
}

// embedsEtcd says whether etcd is to run in the process.
func (o *Options) embedsEtcd() bool {
	return slices.Contains(o.Recommended.Etcd.StorageConfig.Transport.ServerList, EmbeddedEtcd)
}

// Validate says what is wrong with completed options.
func (o *Options) Validate() error {
	servers := o.Recommended.Etcd.StorageConfig.Transport.ServerList
	if len(servers) == 0 {
		return errors.New("expected --etcd-servers, or --standalone for development on this machine, found neither")
	}
	if o.embedsEtcd() && len(servers) > 1 {
		return fmt.Errorf("expected --etcd-servers to be %s or addresses, found both in %s", EmbeddedEtcd, strings.Join(servers, ","))
	}
	if port := o.Recommended.SecureServing.BindPort; port < 0 || port > 65535 {
		return fmt.Errorf("expected --secure-port to be at most 65535, or 0 for a free one, found %d", port)
	}
	if _, err := parseSizes(o.WatchCacheSizes); err != nil {
		return fmt.Errorf("--watch-cache-sizes: %w", err)
	}
	check := o.checkDelegated
	if o.Standalone {
		check = o.checkStandalone
	}
	if err := check(); err != nil {
		return err
	}
	return utilerrors.NewAggregate(o.Recommended.Validate())
}

// kubeconfigs are the files by which a server reaches the kube-apiserver that
// aggregates it, by the flags that name them.
func (o *Options) kubeconfigs() []struct{ flag, file string } {
	return []struct{ flag, file string }{
		{"--kubeconfig", o.Recommended.CoreAPI.CoreAPIKubeconfigPath},
		{"--authentication-kubeconfig", o.Recommended.Authentication.RemoteKubeConfigFile},
		{"--authorization-kubeconfig", o.Recommended.Authorization.RemoteKubeConfigFile},
	}
}

// checkDelegated says what a server that leaves authentication and authorization to
// a kube-apiserver lacks for it.
func (o *Options) checkDelegated() error {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return nil // in a pod, which has a service account
	}
	for _, kubeconfig := range o.kubeconfigs() {
		if kubeconfig.file == "" {
			return fmt.Errorf("expected %s, as this is no pod of a cluster, or --standalone for development on this machine, found neither", kubeconfig.flag)
		}
	}
	return nil
}

// checkStandalone refuses what would let others in, and what would suggest that
// somebody is kept out.
func (o *Options) checkStandalone() error {
	if address := o.Recommended.SecureServing.BindAddress; !address.IsLoopback() {
		return fmt.Errorf("expected a loopback --bind-address with --standalone, which lets everybody do everything, found %v", address)
	}
	for _, kubeconfig := range o.kubeconfigs() {
		if kubeconfig.file != "" {
			return fmt.Errorf("expected --standalone, which asks no kube-apiserver, or %s, found both", kubeconfig.flag)
		}
	}
	return nil
}

// withoutKubernetes leaves out what asks a kube-apiserver: who somebody is, what
// they may do, the admission plugins, and the flow control. Where the options are
// nil, k8s.io/apiserver allows everything.
func withoutKubernetes(options genericoptions.RecommendedOptions) genericoptions.RecommendedOptions {
	options.Authentication = nil
	options.Authorization = nil
	options.CoreAPI = nil
	options.Admission = nil
	features := *options.Features
	features.EnablePriorityAndFairness = false
	options.Features = &features
	return options
}

// admitEverybody calls those who come system:anonymous, also in the audit log.
func admitEverybody(config *genericapiserver.RecommendedConfig) {
	config.Authentication.Authenticator = anonymous.NewAuthenticator(nil)
}
