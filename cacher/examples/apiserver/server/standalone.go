package server

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

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
