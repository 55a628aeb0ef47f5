// Package rig runs the released controllers of cert-manager over an API server and etcd, all in this process, over
// loopback and on the real clock.
package rig

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	versioned "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/typed/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/cluster/target/kubernetes"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/examples/certmanager"
	"github.com/watchsim/watchsim/simtest"
)

// Namespace is where everything is.
const Namespace = "default"

// SelfSigned is the name of an issuer that signs with the key of the certificate.
const SelfSigned = "self-signed"

// Start runs an API server with cert-manager's resources, its controllers as they are by default, and an issuer. What the
// controllers ask passes through wrap, if it is given.
func Start(wrap transport.WrapperFunc) *rest.Config {
	klog.SetLogger(klog.Logger{}) // discards
	etcd, _ := rig.StartEtcd()
	const address = "127.0.0.1"
	server, err := kubernetes.NewWeb().Start(target.ServerConfig{Name: address, Endpoints: []string{"http://" + etcd}})
	rig.Must(err)
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "6443"))
	rig.Must(err)
	go server.(target.Web).Serve(listener)
	config := &rest.Config{Host: httpserver.URL(address), TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	define(dynamic.NewForConfigOrDie(config))

	ctx := context.Background()
	slow := rest.CopyConfig(config)
	slow.Wrap(wrap)
	slow.Wrap(func(next http.RoundTripper) http.RoundTripper { return away{next} })
	proxied, err := simtest.Proxy(ctx, slow)
	rig.Must(err)
	go func() { rig.Must(certmanager.Run(ctx, proxied, certmanager.Backoff)) }()
	issuer := &cmapi.Issuer{ObjectMeta: metav1.ObjectMeta{Name: SelfSigned}}
	issuer.Spec.SelfSigned = &cmapi.SelfSignedIssuer{}
	_, err = versioned.NewForConfigOrDie(config).Issuers(Namespace).Create(ctx, issuer, metav1.CreateOptions{})
	rig.Must(err)
	return config
}

// away is an API server that is not on the machine of its client.
type away struct{ http.RoundTripper }

func (a away) RoundTrip(request *http.Request) (*http.Response, error) {
	time.Sleep(20 * time.Millisecond)
	return a.RoundTripper.RoundTrip(request)
}

// define creates cert-manager's custom resources, and waits until they are served.
func define(client dynamic.Interface) {
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	manifests, err := filepath.Glob(filepath.Join(certmanager.Definitions(), "*.yaml"))
	rig.Must(err)
	for _, path := range manifests {
		manifest, err := os.ReadFile(path)
		rig.Must(err)
		definition := &unstructured.Unstructured{}
		rig.Must(yaml.Unmarshal([]byte(strings.TrimPrefix(string(manifest), "---\n")), &definition.Object))
		rig.Until(func() bool {
			_, err = definitions.Create(context.Background(), definition, metav1.CreateOptions{})
			return err == nil
		})
		rig.Must(err)
	}
	time.Sleep(5 * time.Second)
}
