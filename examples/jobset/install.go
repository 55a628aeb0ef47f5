package jobset

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configapi "sigs.k8s.io/jobset/api/config/v1alpha1"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// Install creates what the release installs besides the custom resource and the replicas: a namespace and the webhooks, which all
// replicas serve. It returns the certificate for them.
func Install(ctx context.Context, c *simtest.Cluster, replicas ...string) (tls.Certificate, error) {
	service, err := controlplane.NewWebhookService(Namespace, configapi.DefaultWebhookServiceName, configapi.DefaultWebhookPort)
	if err != nil {
		return tls.Certificate{}, err
	}
	mutating, validating, err := controlplane.ReadWebhooks(filepath.Join(Release(), "config/components/webhook/manifests.yaml"))
	if err != nil {
		return tls.Certificate{}, err
	}
	// As the kustomization of the release patches them.
	selects := func(client admissionregistrationv1.WebhookClientConfig, selector **metav1.LabelSelector) {
		if strings.HasSuffix(*client.Service.Path, "-pod") {
			*selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: api.JobSetNameKey, Operator: metav1.LabelSelectorOpExists}}}
		}
	}
	for i := range mutating.Webhooks {
		selects(mutating.Webhooks[i].ClientConfig, &mutating.Webhooks[i].ObjectSelector)
	}
	for i := range validating.Webhooks {
		selects(validating.Webhooks[i].ClientConfig, &validating.Webhooks[i].ObjectSelector)
	}
	c.Go(service.Name, service.Balance(replicas...))
	return service.Certificate, service.Install(ctx, c.Config(), service.Name, mutating, validating)
}
