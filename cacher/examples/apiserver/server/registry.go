package server

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// newWidgetStore returns the storage of widgets behind the REST endpoints.
func newWidgetStore(getter generic.RESTOptionsGetter) (*genericregistry.Store, error) {
	resource := v1.Resource.GroupResource()
	strategy := widgetStrategy{ObjectTyper: scheme, NameGenerator: names.SimpleNameGenerator}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &v1.Widget{} },
		NewListFunc:               func() runtime.Object { return &v1.WidgetList{} },
		PredicateFunc:             selectWidgets,
		DefaultQualifiedResource:  resource,
		SingularQualifiedResource: v1.GroupVersion.WithResource("widget").GroupResource(),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		TableConvertor:            rest.NewDefaultTableConvertor(resource),
	}
	err := store.CompleteWithOptions(&generic.StoreOptions{
		RESTOptions: getter,
		AttrFunc:    widgetAttributes,
		// Kubelets watch their pods by node. This makes the same cheap here: an event only wakes
		// the watches of its node, and lists of a node use an index.
		TriggerFunc: map[string]storage.IndexerFunc{v1.NodeNameField: nodeName},
		Indexers:    &cache.Indexers{storage.FieldIndex(v1.NodeNameField): nodeNameIndex},
	})
	return store, err
}

func selectWidgets(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{
		Label:       label,
		Field:       field,
		GetAttrs:    widgetAttributes,
		IndexFields: []string{v1.NodeNameField},
	}
}

// widgetAttributes returns what selectors match.
func widgetAttributes(object runtime.Object) (labels.Set, fields.Set, error) {
	widget, ok := object.(*v1.Widget)
	if !ok {
		return nil, nil, fmt.Errorf("expected a widget, found %T", object)
	}
	set := generic.ObjectMetaFieldsSet(&widget.ObjectMeta, true)
	set[v1.NodeNameField] = widget.Spec.NodeName
	return widget.Labels, set, nil
}

func nodeName(object runtime.Object) string { return object.(*v1.Widget).Spec.NodeName }

func nodeNameIndex(object any) ([]string, error) {
	widget, ok := object.(*v1.Widget)
	if !ok {
		return nil, fmt.Errorf("expected a widget, found %T", object)
	}
	return []string{widget.Spec.NodeName}, nil
}

// widgetStrategy prepares widgets for storage.
type widgetStrategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

var (
	_ rest.RESTCreateStrategy = widgetStrategy{}
	_ rest.RESTUpdateStrategy = widgetStrategy{}
	_ rest.RESTDeleteStrategy = widgetStrategy{}
)

func (widgetStrategy) NamespaceScoped() bool                         { return true }
func (widgetStrategy) AllowCreateOnUpdate(context.Context) bool      { return false }
func (widgetStrategy) AllowUnconditionalUpdate(context.Context) bool { return true }
func (widgetStrategy) Canonicalize(runtime.Object)                   {}

func (widgetStrategy) PrepareForCreate(_ context.Context, object runtime.Object) {
	object.(*v1.Widget).Generation = 1
}

// PrepareForUpdate increments the generation when the spec changes.
func (widgetStrategy) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	widget, before := object.(*v1.Widget), old.(*v1.Widget)
	widget.Generation = before.Generation
	if !apiequality.Semantic.DeepEqual(widget.Spec, before.Spec) {
		widget.Generation++
	}
}

func (widgetStrategy) Validate(_ context.Context, object runtime.Object) field.ErrorList {
	spec, path := object.(*v1.Widget).Spec, field.NewPath("spec")
	var errs field.ErrorList
	if spec.NodeName != "" {
		for _, message := range validation.IsDNS1123Subdomain(spec.NodeName) {
			errs = append(errs, field.Invalid(path.Child("nodeName"), spec.NodeName, message))
		}
	}
	if spec.Size < 0 {
		errs = append(errs, field.Invalid(path.Child("size"), spec.Size, "must not be negative"))
	}
	return errs
}

func (s widgetStrategy) ValidateUpdate(ctx context.Context, object, _ runtime.Object) field.ErrorList {
	return s.Validate(ctx, object)
}

func (widgetStrategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

func (widgetStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
