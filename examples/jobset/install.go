package jobset

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	configapi "sigs.k8s.io/jobset/api/config/v1alpha1"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/watchsim/watchsim/cluster/target"
)

// Install creates what the release installs besides the custom resource and the replicas: a namespace and the webhooks, with a service
// that leads to the given host. It returns the certificate with which the webhooks are to be served.
func Install(ctx context.Context, config *rest.Config, host string) (tls.Certificate, error) {
	known, _, err := target.NewCertificates(configapi.DefaultWebhookServiceName + "." + Namespace + ".svc")
	if err != nil {
		return tls.Certificate{}, err
	}
	objects, err := hooks(known.Chain)
	if err != nil {
		return tls.Certificate{}, err
	}
	objects = append([]client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: configapi.DefaultWebhookServiceName},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host}, // no kube-proxy spreads requests
		},
	}, objects...)
	scheme, err := Scheme()
	if err != nil {
		return tls.Certificate{}, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return tls.Certificate{}, err
	}
	for _, o := range objects {
		if err := c.Create(ctx, o); err != nil {
			return tls.Certificate{}, err
		}
	}
	return known.Pair()
}

// hooks returns the release's configurations of webhooks, with the changes that its kustomizations and its rotator of certificates make.
func hooks(authority []byte) (all []client.Object, err error) {
	manifests, err := os.ReadFile(filepath.Join(Release(), "config/components/webhook/manifests.yaml"))
	if err != nil {
		return nil, err
	}
	complete := func(c *admissionregistrationv1.WebhookClientConfig, selector **metav1.LabelSelector) {
		c.CABundle, c.Service.Namespace, c.Service.Name, c.Service.Port = authority, Namespace, configapi.DefaultWebhookServiceName, new(int32(configapi.DefaultWebhookPort))
		if strings.HasSuffix(*c.Service.Path, "-pod") {
			*selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: api.JobSetNameKey, Operator: metav1.LabelSelectorOpExists}}}
		}
	}
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), len(manifests))
	if err := errors.Join(decoder.Decode(mutating), decoder.Decode(validating), ended(decoder.Decode(&struct{}{}))); err != nil {
		return nil, err
	}
	for i := range mutating.Webhooks {
		complete(&mutating.Webhooks[i].ClientConfig, &mutating.Webhooks[i].ObjectSelector)
	}
	for i := range validating.Webhooks {
		complete(&validating.Webhooks[i].ClientConfig, &validating.Webhooks[i].ObjectSelector)
	}
	return []client.Object{mutating, validating}, nil
}

func ended(err error) error {
	if err == nil {
		return errors.New("expected two documents, found more")
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
