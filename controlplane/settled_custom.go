package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
)

// readCustom lists the definitions of custom resources, and the objects of those that are not being deleted, in the version that discovery prefers.
// Objects that are not younger than their definition, to the second, are those of an earlier one. An API server that has not observed the deletion of a definition may
// create an object after another one has deleted all, as crd_finalizer.go says: it comes back with the next definition.
func (s *state) readCustom(ctx context.Context, untyped dynamic.Interface) error {
	all := metav1.ListOptions{}
	found, err := untyped.Resource(definitions).List(ctx, all)
	if err != nil {
		return err
	}
	s.defined = map[schema.GroupKind]bool{}
	for _, item := range found.Items {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &definition); err != nil {
			return err
		}
		s.definitions = append(s.definitions, definition)
		spec := definition.Spec
		served := slices.DeleteFunc(slices.Clone(spec.Versions), func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Served })
		if definition.DeletionTimestamp != nil || len(served) == 0 {
			continue
		}
		preferred := slices.MaxFunc(served, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
			return version.CompareKubeAwareVersionStrings(a.Name, b.Name)
		})
		objects, err := untyped.Resource(schema.GroupVersionResource{Group: spec.Group, Version: preferred.Name, Resource: spec.Names.Plural}).List(ctx, all)
		if err != nil {
			s.unserved = append(s.unserved, wrongf(&definition, "the objects of %s cannot be listed: %w", definition.Name, err))
			continue
		}
		for _, object := range objects.Items {
			into := &s.customs
			switch {
			case !object.GetCreationTimestamp().After(definition.CreationTimestamp.Time):
				into = &s.leftovers
			case object.GetKind() == gaugeKind:
				into = &s.gauges
			}
			*into = append(*into, object)
		}
		s.defined[schema.GroupKind{Group: spec.Group, Kind: spec.Names.Kind}] = true
	}
	return nil
}

// customsServed: API servers serve the resource of each definition until that is deleted.
func (s *state) customsServed() error { return errors.Join(s.unserved...) }

// mayExist reports whether there may be objects of a kind that have not been read: the kind is custom, and its definition is gone, is being deleted or is not served.
func (s *state) mayExist(kind schema.GroupVersionKind) bool {
	return !scheme.Scheme.Recognizes(kind) && !s.defined[kind.GroupKind()]
}

// kindOf returns the kind of an object, for reports.
func kindOf(o metav1.Object) string {
	if custom, is := o.(*unstructured.Unstructured); is {
		return custom.GetKind()
	}
	return fmt.Sprintf("%T", o)
}
