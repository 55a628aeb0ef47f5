package leaderworkerset

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	configapi "sigs.k8s.io/lws/api/config/v1alpha1"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/utils"
	"sigs.k8s.io/yaml"
)

// service is the name of the service that leads to the webhooks, and of the host that stands for it.
const service = configapi.DefaultWebhookServiceName

// Name is the DNS name of the service.
func Name() string { return service + "." + utils.GetOperatorNamespace() + ".svc" }

// Install creates the objects of the release: its namespace, and what makes API servers call the webhooks, whose certificates are
// signed by the authority.
func Install(ctx context.Context, client kubernetes.Interface, authority []byte) error {
	space := utils.GetOperatorNamespace()
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := client.CoreV1().Services(space).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: service},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(Release(), "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	documents := strings.Split(string(content), "\n---\n")
	if len(documents) != 2 {
		return fmt.Errorf("expected two documents, found %d", len(documents))
	}
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.Unmarshal([]byte(documents[0]), mutating); err != nil {
		return err
	}
	if err := yaml.Unmarshal([]byte(documents[1]), validating); err != nil {
		return err
	}
	// As kustomize does for the release.
	of := func(to *admissionregistrationv1.WebhookClientConfig) {
		to.CABundle, to.Service.Namespace, to.Service.Name, to.Service.Port = authority, space, service, ptr.To[int32](configapi.DefaultWebhookPort)
	}
	for i := range mutating.Webhooks {
		w := &mutating.Webhooks[i]
		of(&w.ClientConfig)
		w.ObjectSelector = selects(w.Name)
	}
	// The last one is for DisaggregatedSets.
	validating.Webhooks = validating.Webhooks[:2]
	for i := range validating.Webhooks {
		w := &validating.Webhooks[i]
		of(&w.ClientConfig)
		w.ObjectSelector = selects(w.Name)
	}
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{})
	return err
}

// selects returns which objects a webhook is for: the release patches those for pods.
func selects(webhook string) *metav1.LabelSelector {
	if !strings.HasSuffix(webhook, "pod.kb.io") {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: lwsv1.SetNameLabelKey, Operator: metav1.LabelSelectorOpExists}}}
}

// Balance returns a program that stands for the service: each connection goes to one of the hosts of replicas that accepts it.
func Balance(hosts ...string) func(ctx context.Context, _ *rest.Config) error {
	return func(ctx context.Context, _ *rest.Config) error {
		port := fmt.Sprint(configapi.DefaultWebhookPort)
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			return err
		}
		go func() {
			<-ctx.Done()
			listener.Close()
		}()
		for {
			from, err := listener.Accept()
			if err != nil {
				return err
			}
			go func() {
				defer from.Close()
				for _, i := range rand.Perm(len(hosts)) {
					if to, err := net.Dial("tcp", net.JoinHostPort(hosts[i], port)); err == nil {
						defer to.Close()
						go func() {
							defer to.Close()
							_, _ = io.Copy(to, from)
						}()
						_, _ = io.Copy(from, to)
						return
					}
				}
			}()
		}
	}
}
