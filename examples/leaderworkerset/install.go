package leaderworkerset

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configapi "sigs.k8s.io/lws/api/config/v1alpha1"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/utils"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// Install creates what the release installs besides the custom resource and the replicas: a namespace and the webhooks, which all
// replicas serve. It returns the certificate for them.
func Install(ctx context.Context, c *simtest.Cluster, replicas ...string) (tls.Certificate, error) {
	service, err := controlplane.NewWebhookService(utils.GetOperatorNamespace(), configapi.DefaultWebhookServiceName, configapi.DefaultWebhookPort)
	if err != nil {
		return tls.Certificate{}, err
	}
	mutating, validating, err := controlplane.ReadWebhooks(filepath.Join(Release(), "webhook", "manifests.yaml"))
	if err != nil {
		return tls.Certificate{}, err
	}
	// As the kustomization of the release patches them.
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ObjectSelector = selects(mutating.Webhooks[i].Name)
	}
	validating.Webhooks = validating.Webhooks[:2] // the last one is for DisaggregatedSets
	for i := range validating.Webhooks {
		validating.Webhooks[i].ObjectSelector = selects(validating.Webhooks[i].Name)
	}
	c.Go(service.Name, service.Balance(replicas...))
	return service.Certificate, service.Install(ctx, c.Config(), service.Name, mutating, validating)
}

// selects returns which objects a webhook is for: the release patches those for pods.
func selects(webhook string) *metav1.LabelSelector {
	if !strings.HasSuffix(webhook, "pod.kb.io") {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: lwsv1.SetNameLabelKey, Operator: metav1.LabelSelectorOpExists}}}
}
