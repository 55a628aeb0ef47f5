//go:build watchsim

package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/simdisk"
	"github.com/watchsim/watchsim/simtest"
)

func init() { simtest.Register(KubeAPIServer, newServers) }

// watchGrace is how long a stopping server waits for its watches to end.
const watchGrace = 10 * time.Second

func newServers() target.Servers { return &servers{} }

type servers struct{ encryption httpserver.Encryption }

// Encryption returns how the servers encrypt objects in etcd.
func (s *servers) Encryption() *httpserver.Encryption { return &s.encryption }

// Etcd implements target.Servers.
func (*servers) Etcd() etcd.Release { return current.Release{} }

// Prefix implements target.Servers.
func (*servers) Prefix() string { return httpserver.Prefix + "/" }

// Decode implements target.Servers. The encoding of a value depends on the resource. Therefore
// an object has its key as its name, and the stored bytes, decrypted, as its value.
func (*servers) Decode(key string, value []byte) (model.Object, error) {
	plain, err := httpserver.Decrypt(key, value)
	return model.Object{Name: key, Value: string(plain)}, err
}

// Start implements target.Servers. Like the real command, it exits if kube-apiserver cannot start.
func (s *servers) Start(config target.ServerConfig) (target.Server, error) {
	one := &server{name: config.Name, encryption: &s.encryption, listener: &httpserver.Listener{}, done: make(chan struct{})}
	one.ctx, one.stop = context.WithCancel(context.Background())
	defer func() {
		if reason := recover(); reason != nil { // it panics if etcd does not answer
			klog.InfoS("kube-apiserver panicked", "server", config.Name, "reason", reason)
			os.Exit(2)
		}
	}()
	if err := one.prepare(config); err != nil {
		klog.ErrorS(err, "kube-apiserver cannot start", "server", config.Name)
		os.Exit(1)
	}
	return one, nil
}

// server is one kube-apiserver. It implements target.Web.
type server struct {
	name       string
	encryption *httpserver.Encryption
	listener   *httpserver.Listener
	chain      *aggregator.APIAggregator
	unplug     func() // stops the KMS plugin
	// transformers are those of all resources, nil without encryption.
	transformers value.ResourceTransformers
	ctx          context.Context
	stop         func()
	done         chan struct{}
	begun        atomic.Bool // it serves, or has stopped before
}

// prepare builds the server as its command does, up to the point where it would serve.
func (s *server) prepare(config target.ServerConfig) (err error) {
	options, err := s.options(config)
	if err != nil {
		return err
	}
	complete, err := options.Complete(s.ctx)
	if err != nil {
		return err
	}
	if complete.SecureServing.ServerCert.GeneratedCert, err = httpserver.Certificate(config); err != nil { // instead of its self-made one
		return err
	}
	if err := errors.Join(complete.Validate()...); err != nil {
		return err
	}
	configured, err := app.NewConfig(complete)
	if err != nil {
		return err
	}
	outermost := &configured.Aggregator.GenericConfig.Authentication
	outermost.Authenticator = byUserAgent{outermost.Authenticator}
	s.transformers = configured.KubeAPIs.ControlPlane.Generic.ResourceTransformers
	completed, err := configured.Complete()
	if err != nil {
		return err
	}
	s.chain, err = app.CreateServerChain(completed)
	return err
}

// options returns options with all differences from kube-apiserver's defaults.
func (s *server) options(config target.ServerConfig) (*apiserveroptions.ServerRunOptions, error) {
	key, err := signingKey()
	if err != nil {
		return nil, err
	}
	o := apiserveroptions.NewServerRunOptions()
	o.SecureServing.Listener = s.listener
	o.SecureServing.BindPort = httpserver.Port
	o.SecureServing.ExternalAddress = net.IPv4(127, 0, 0, 1)
	o.SecureServing.ServerCert.CertDirectory = "" // keep the certificate in memory
	// The certificate that kube-apiserver makes for itself is replaced, so it is made only once: its keys take tenths of a second.
	o.SecureServing.ServerCert.FixtureDirectory = simdisk.Root
	// Both are small, so that they fill up, and what is freed is soon taken again.
	o.ServiceClusterIPRanges = clusterIPs.String()
	o.ServiceNodePortRange = utilnet.PortRange{Base: 30000, Size: 16}
	o.Etcd.StorageConfig.Transport.ServerList = config.Endpoints
	// Servers in one process share etcd's compactor, and here all servers are in one process.
	o.Etcd.StorageConfig.CompactionInterval = config.Tuning.CompactInterval
	if s.unplug, err = s.encryption.Configure(config, o.Etcd); err != nil {
		return nil, err
	}
	if err := keepAuditLog(config.Name, o.Audit); err != nil {
		return nil, err
	}
	o.GenericServerRunOptions.ShutdownWatchTerminationGracePeriod = watchGrace
	o.EndpointReconcilerType = "none" // addresses of hosts are names here
	o.ServiceAccountSigningKeyFile = key
	o.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc"}
	o.Authentication.ServiceAccounts.KeyFiles = []string{key}
	// Informers are registered by name per process, which all servers share here.
	if o.InformerName, err = cache.NewInformerName(fmt.Sprintf("%s-%d", config.Name, config.Restarts)); err != nil {
		return nil, err
	}
	given, err := os.ReadFile(serverFlags(config.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil:
		_, err = parseFlags(o.Flags(), string(given))
	}
	return o, err
}

// signingKey returns the file with the key of service account tokens, which all servers share.
func signingKey() (string, error) {
	const path = simdisk.Root + "/service-account.key"
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	content, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, content, 0o600)
}

// byUserAgent authenticates clients without a token by their User-Agent. API servers close the HTTP/2
// connections of anonymous clients after each request.
type byUserAgent struct{ next authenticator.Request }

// AuthenticateRequest implements authenticator.Request.
func (a byUserAgent) AuthenticateRequest(request *http.Request) (*authenticator.Response, bool, error) {
	if request.Header.Get("Authorization") != "" {
		return a.next.AuthenticateRequest(request)
	}
	name, _, _ := strings.Cut(request.UserAgent(), " ")
	return &authenticator.Response{User: &user.DefaultInfo{
		Name: name, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
	}}, true, nil
}

// Serve implements target.Web.
func (s *server) Serve(listener net.Listener) {
	if !s.begun.CompareAndSwap(false, true) {
		return
	}
	defer close(s.done)
	s.listener.Listener = listener
	prepared, err := s.chain.PrepareRun()
	if err == nil {
		go httpserver.Probe(s.ctx, s.transformers)
		err = prepared.Run(s.ctx)
	}
	if err != nil && s.ctx.Err() == nil {
		klog.ErrorS(err, "kube-apiserver ended", "server", s.name)
		runtime.Goexit()
	}
}

// BreakWatch implements target.Server. For these servers, faults break the watches in etcd.
func (s *server) BreakWatch(faults.WatchEnd) {}

// Stop implements target.Server.
func (s *server) Stop() {
	defer s.unplug()
	s.stop()
	if s.begun.CompareAndSwap(false, true) {
		s.chain.GenericAPIServer.Destroy()
		return
	}
	<-s.done
}
