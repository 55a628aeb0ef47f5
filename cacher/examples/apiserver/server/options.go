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

// EmbeddedEtcd is the value of --etcd-servers for an etcd member in the process, which keeps
// nothing.
const EmbeddedEtcd = "embedded"

// etcdPrefix is the prefix of all of this server's keys in etcd.
const etcdPrefix = "/registry/example.watchsim.dev"

// Options are the server's settings.
type Options struct {
	// Recommended are the usual options of API servers.
	Recommended *genericoptions.RecommendedOptions
	// WatchCache serves lists and watches.
	WatchCache WatchCache
	// WatchCacheSizes are settings such as widgets#1000, in events. Kubernetes' cache only honours
	// 0, which turns it off.
	WatchCacheSizes []string
	// Standalone allows every request of everybody who can connect, and only connections from this
	// machine.
	Standalone bool
	// Out is where Run prints its address.
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
	serving.BindAddress = nil // set by Complete
	serving.BindPort = 8443
	serving.Required = false              // 0 is a free port
	serving.ServerCert.CertDirectory = "" // a certificate that lives in memory
	return o
}

// AddFlags adds flags for the options. Those shared with kube-apiserver have the same names.
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
		// The flags of the caches are above: here they can do more.
		if flags.Lookup(flag.Name) == nil && flag.Name != "default-watch-cache-size" {
			flags.AddFlag(flag)
		}
	})
}

// Complete sets what depends on other options. It may be called again.
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

// embedsEtcd reports whether etcd runs in the process.
func (o *Options) embedsEtcd() bool {
	return slices.Contains(o.Recommended.Etcd.StorageConfig.Transport.ServerList, EmbeddedEtcd)
}

// Validate returns the errors of completed options.
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

// kubeconfigs are the files with which a server reaches the kube-apiserver that aggregates it, by
// their flags.
func (o *Options) kubeconfigs() []struct{ flag, file string } {
	return []struct{ flag, file string }{
		{"--kubeconfig", o.Recommended.CoreAPI.CoreAPIKubeconfigPath},
		{"--authentication-kubeconfig", o.Recommended.Authentication.RemoteKubeConfigFile},
		{"--authorization-kubeconfig", o.Recommended.Authorization.RemoteKubeConfigFile},
	}
}

// checkDelegated returns an error if a server that delegates authentication and authorization to a
// kube-apiserver cannot reach it.
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

// checkStandalone rejects settings that would let others in, or would suggest that somebody is kept
// out.
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

// withoutKubernetes removes what needs a kube-apiserver: authentication, authorization, admission
// plugins, and flow control. If the options are nil, k8s.io/apiserver allows everything.
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

// admitEverybody authenticates everybody as system:anonymous, also in the audit log.
func admitEverybody(config *genericapiserver.RecommendedConfig) {
	config.Authentication.Authenticator = anonymous.NewAuthenticator(nil)
}
