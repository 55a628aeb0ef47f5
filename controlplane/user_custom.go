package controlplane

import (
	"context"
	"errors"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resource of definitions, and the custom resource of each name.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func custom(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: name + "s"}
}

func (u *person) createDefinition(ctx context.Context, _, name string) error {
	resource := custom(name)
	_, err := u.untyped.Resource(definitions).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": definitions.GroupVersion().String(), "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": resource.GroupResource().String()},
		"spec": map[string]any{
			"group": resource.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": resource.Resource, "singular": name, "kind": kind(name)},
			"versions": []any{map[string]any{
				"name": resource.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}, metav1.CreateOptions{})
	return err
}

// kind returns the kind of the custom resource of a name.
func kind(name string) string { return "Custom" + name }

func (u *person) deleteDefinition(ctx context.Context, _, name string) error {
	return u.untyped.Resource(definitions).Delete(ctx, custom(name).GroupResource().String(), metav1.DeleteOptions{})
}

// createCustom creates a custom object that has no owners, or some of those that [drawOwners] draws. Its name sorts before those of dependents.
func (u *person) createCustom(ctx context.Context, space, name string) (err error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(custom(name).GroupVersion().WithKind(kind(name)))
	object.SetGenerateName("made-" + name + "-")
	if rand.IntN(2) == 0 {
		references, err := u.drawOwners(ctx, space, object.GetGenerateName())
		if err != nil {
			return err
		}
		object.SetOwnerReferences(references)
	}
	_, err = u.untyped.Resource(custom(name)).Namespace(space).Create(ctx, object, metav1.CreateOptions{})
	return err
}

func (u *person) deleteCustom(ctx context.Context, space, name string) error {
	found, err := u.untyped.Resource(custom(name)).Namespace(space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(found.Items) == 0 {
		return errors.New("no custom object exists")
	}
	return u.untyped.Resource(custom(name)).Namespace(space).Delete(ctx, found.Items[rand.IntN(len(found.Items))].GetName(), deletion())
}
