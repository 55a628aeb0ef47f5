package controlplane

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// workloads are the resources whose objects replace their pods when their template changes.
var workloads = []schema.GroupVersionResource{
	appsv1.SchemeGroupVersion.WithResource("deployments"), appsv1.SchemeGroupVersion.WithResource("statefulsets"), appsv1.SchemeGroupVersion.WithResource("daemonsets"),
}

// Upgrade changes the image of all deployments, stateful sets and daemon sets. It continues after a failed request.
func Upgrade(ctx context.Context, config *rest.Config, image string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"` + image + `"}]}}}}`)
	var errs []error
	for _, resource := range workloads {
		all, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, one := range all.Items {
			_, err := client.Resource(resource).Namespace(one.GetNamespace()).Patch(ctx, one.GetName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
