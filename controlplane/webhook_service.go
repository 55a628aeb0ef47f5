package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/cluster/target"
)

// WebhookService is a service through which API servers call webhooks that a program of the cluster serves.
type WebhookService struct {
	Namespace, Name string
	// Port is where the program listens.
	Port int32
	// Certificate is for the program, and Authority, in PEM, for the API servers.
	Certificate tls.Certificate
	Authority   []byte
}

// NewWebhookService returns a service with a certificate of its own.
func NewWebhookService(namespace, name string, port int32) (*WebhookService, error) {
	known, _, err := target.NewCertificates(name + "." + namespace + ".svc")
	if err != nil {
		return nil, err
	}
	pair, err := known.Pair()
	return &WebhookService{Namespace: namespace, Name: name, Port: port, Certificate: pair, Authority: known.Chain}, err
}

// Client says how an API server calls the webhook with a path.
func (s *WebhookService) Client(path string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{CABundle: s.Authority, Service: &admissionregistrationv1.ServiceReference{
		Namespace: s.Namespace, Name: s.Name, Path: &path, Port: &s.Port,
	}}
}

// ReadWebhooks reads the configurations of admission webhooks in a file of YAML, such as controller-gen writes; either is nil if the file has none.
func ReadWebhooks(file string) (mutating *admissionregistrationv1.MutatingWebhookConfiguration, validating *admissionregistrationv1.ValidatingWebhookConfiguration, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return mutating, validating, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		switch found := decoded.(type) {
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			mutating = found
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			validating = found
		default:
			return nil, nil, fmt.Errorf("%s: expected configurations of webhooks, found %T", file, found)
		}
	}
}

// Install creates the service, which leads to a host, its namespace, and the configurations of admission webhooks, of which either
// may be nil. Their webhooks keep their paths and become those of this service, whatever service the manifests of a release name.
func (s *WebhookService) Install(ctx context.Context, config *rest.Config, host string,
	mutating *admissionregistrationv1.MutatingWebhookConfiguration, validating *admissionregistrationv1.ValidatingWebhookConfiguration) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if s.Namespace != metav1.NamespaceDefault {
		if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	// For a service, each API server dials by itself. For a URL, client-go would cache connections in the process, which all servers
	// and all their lives share here. No kube-proxy runs, but API servers resolve an external name.
	if _, err := client.CoreV1().Services(s.Namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if mutating != nil {
		for i := range mutating.Webhooks {
			mutating.Webhooks[i].ClientConfig = s.Client(*mutating.Webhooks[i].ClientConfig.Service.Path)
		}
		if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if validating != nil {
		for i := range validating.Webhooks {
			validating.Webhooks[i].ClientConfig = s.Client(*validating.Webhooks[i].ClientConfig.Service.Path)
		}
		if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Balance returns a program that stands for a service of several programs: each connection goes to one of their hosts, drawn at random
// among those that accept it.
func (s *WebhookService) Balance(hosts ...string) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, _ *rest.Config) error {
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", s.Port))
		if err != nil {
			return err
		}
		defer context.AfterFunc(ctx, func() { listener.Close() })()
		for {
			from, err := listener.Accept()
			if err != nil {
				return errors.Join(err, ctx.Err())
			}
			go s.forward(from, hosts)
		}
	}
}

// forward connects a client with one of the hosts, until either closes its connection.
func (s *WebhookService) forward(from net.Conn, hosts []string) {
	defer from.Close()
	for _, i := range rand.Perm(len(hosts)) {
		to, err := net.Dial("tcp", net.JoinHostPort(hosts[i], fmt.Sprint(s.Port)))
		if err != nil {
			continue
		}
		defer to.Close()
		go func() {
			defer to.Close()
			_, _ = io.Copy(to, from)
		}()
		_, _ = io.Copy(from, to)
		return
	}
}
