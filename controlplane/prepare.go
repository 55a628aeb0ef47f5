package controlplane

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// gauges is the custom resource whose objects webhooks convert: clients request v2, and
// etcd stores v1.
var gauges = schema.GroupVersionResource{Group: gaugeGroup, Version: "v2", Resource: "gauges"}

// admission is the label of config maps that selects their admission webhook. Its value is the
// failurePolicy of that webhook.
const admission = "example.com/admission"

var policies = []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore}

func labelOf(policy admissionregistrationv1.FailurePolicyType) string {
	return strings.ToLower(string(policy))
}

// Prepare creates the objects that exist before users begin: their namespaces, a priority class of pods that preempt
// others, storage classes with their provisioner, and webhooks.
func (p *Plane) Prepare(t *simtest.T, c *simtest.Cluster) error {
	for _, space := range spaces {
		if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: priority}, Value: 1000}
	if _, err := c.Client().SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, class := range classes() {
		if _, err := c.Client().StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	c.Go(provisioner, p.Provisioner)
	service, err := NewWebhookService(metav1.NamespaceDefault, webhooksName, webhooksPort)
	if err != nil {
		return err
	}
	c.Go(webhooksName, Webhooks(service.Certificate))
	p.webhooks = true
	return register(t.Context(), c.Config(), service)
}

// register registers the webhooks with the API servers.
func register(ctx context.Context, config *rest.Config, service *WebhookService) error {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhooksName}}
	for _, policy := range policies {
		configuration.Webhooks = append(configuration.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name: labelOf(policy) + ".example.com", FailurePolicy: &policy, TimeoutSeconds: new(int32(5)),
			ClientConfig:   service.Client(admitPath),
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{admission: labelOf(policy)}},
			SideEffects:    new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		})
	}
	if err := service.Install(ctx, config, webhooksName, configuration, nil); err != nil {
		return err
	}
	definitions, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = definitions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: gauges.GroupResource().String()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gauges.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: gauges.Resource, Singular: "gauge", Kind: gaugeKind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{gaugeVersion("v1", firstField, true), gaugeVersion("v2", laterField, false)},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: service.Authority, Service: &apiextensionsv1.ServiceReference{
					Namespace: service.Namespace, Name: service.Name, Path: &convertPath, Port: &service.Port,
				}},
				ConversionReviewVersions: []string{"v1"},
			}},
		},
	}, metav1.CreateOptions{})
	return err
}

const gaugeKind = "Gauge"

func gaugeVersion(name, field string, stored bool) apiextensionsv1.CustomResourceDefinitionVersion {
	return apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: stored, Schema: &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{field: {Type: "integer"}}, Required: []string{field}},
	}}
}

// gauge returns a gauge. Without a name, the server generates one.
func gauge(name string, number int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gauges.GroupVersion().String(), "kind": gaugeKind, "metadata": map[string]any{"name": name, "generateName": "first-"}, laterField: number,
	}}
}

// asked returns an error if API servers do not call the webhooks yet.
func asked(ctx context.Context, config *rest.Config) error {
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := all.Resource(gauges).Namespace(spaces[0]).Create(ctx, gauge("", 1), metav1.CreateOptions{}); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	made, err := client.CoreV1().ConfigMaps(spaces[0]).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "first-", Labels: map[string]string{admission: labelOf(policies[0])},
	}}, metav1.CreateOptions{})
	if err == nil && made.Annotations[admitted] == "" {
		err = fmt.Errorf("config map %s bypassed its webhook", made.Name)
	}
	return err
}
