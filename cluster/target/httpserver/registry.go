package httpserver

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// install adds the storage of a resource, and of its status. Events expire.
func (r resource) install(storages map[string]rest.Storage, getter generic.RESTOptionsGetter, eventTTL time.Duration) error {
	plan := strategy{ObjectTyper: scheme, NameGenerator: names.SimpleNameGenerator, resource: r}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return blank(r.object) },
		NewListFunc:               func() runtime.Object { return blank(r.list) },
		PredicateFunc:             predicate,
		DefaultQualifiedResource:  r.version.WithResource(r.plural).GroupResource(),
		SingularQualifiedResource: r.version.WithResource(r.singular()).GroupResource(),
		CreateStrategy:            plan,
		UpdateStrategy:            plan,
		DeleteStrategy:            plan,
		TableConvertor:            rest.NewDefaultTableConvertor(r.version.WithResource(r.plural).GroupResource()),
	}
	if r.plural == "events" {
		store.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return uint64(eventTTL.Seconds()), nil }
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: getter, AttrFunc: attributes}); err != nil {
		return fmt.Errorf("storage of %s: %w", r.plural, err)
	}
	storages[r.plural] = store
	if statusOf(r.object).IsValid() {
		status := *store
		plan.ofStatus = true
		status.UpdateStrategy = plan
		storages[r.plural+"/status"] = &statusStore{&status}
	}
	return nil
}

// blank returns a new, empty object of the same type.
func blank(object runtime.Object) runtime.Object {
	return reflect.New(reflect.TypeOf(object).Elem()).Interface().(runtime.Object)
}

// statusOf and specOf return these fields of an object; invalid if it has none.
func statusOf(object runtime.Object) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName("Status")
}
func specOf(object runtime.Object) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName("Spec")
}

// statusStore is the status subresource of a resource.
type statusStore struct{ store *genericregistry.Store }

var (
	_ rest.Getter  = &statusStore{}
	_ rest.Updater = &statusStore{}
	_ rest.Patcher = &statusStore{}
)

func (s *statusStore) New() runtime.Object { return s.store.New() }

// Destroy does nothing: the store belongs to the resource.
func (s *statusStore) Destroy() {}

func (s *statusStore) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

func (s *statusStore) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, info, create, update, false, options)
}

func (s *statusStore) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return s.store.ConvertToTable(ctx, object, options)
}

// strategy prepares objects of a resource for storage.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	resource resource
	ofStatus bool
}

var (
	_ rest.RESTCreateStrategy              = strategy{}
	_ rest.RESTUpdateStrategy              = strategy{}
	_ rest.GarbageCollectionDeleteStrategy = strategy{}
	_ rest.ResetFieldsStrategy             = strategy{}
)

func (s strategy) NamespaceScoped() bool     { return !s.resource.global }
func (strategy) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate follows kube-apiserver's strategies.
func (s strategy) AllowCreateOnUpdate(context.Context) bool {
	switch s.resource.plural {
	case "services", "events", "leases", "roles", "rolebindings", "clusterroles", "clusterrolebindings":
		return true
	}
	return false
}

// AllowUnconditionalUpdate follows kube-apiserver's strategies.
func (s strategy) AllowUnconditionalUpdate(context.Context) bool {
	return s.resource.plural != "leases" && s.resource.plural != "poddisruptionbudgets"
}

// DefaultGarbageCollectionPolicy leaves dependents to a garbage collector, as kube-apiserver does.
// None runs unless a test starts one.
func (strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.DeleteDependents
}

// GetResetFields implements rest.ResetFieldsStrategy for server-side apply.
func (s strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	reset := "status"
	if s.ofStatus {
		reset = "spec"
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.resource.version.String()): fieldpath.NewSet(fieldpath.MakePathOrDie(reset)),
	}
}

// PrepareForCreate drops the status, except of objects such as events that consist of it.
func (s strategy) PrepareForCreate(_ context.Context, object runtime.Object) {
	if status := statusOf(object); status.IsValid() {
		status.SetZero()
	}
	if accessor, err := meta.Accessor(object); err == nil && specOf(object).IsValid() {
		accessor.SetGeneration(1)
	}
}

// PrepareForUpdate keeps the part that this endpoint does not write, and increments the generation
// when the spec changes.
func (s strategy) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	now, before := reflect.ValueOf(object).Elem(), reflect.ValueOf(old).Elem()
	accessor, err := meta.Accessor(object)
	previous, oldErr := meta.Accessor(old)
	if err != nil || oldErr != nil {
		return
	}
	if s.ofStatus {
		kept := accessor.GetManagedFields()
		status := reflect.New(statusOf(object).Type()).Elem()
		status.Set(statusOf(object))
		resourceVersion := accessor.GetResourceVersion()
		now.Set(reflect.ValueOf(old.DeepCopyObject()).Elem())
		statusOf(object).Set(status)
		accessor.SetResourceVersion(resourceVersion)
		accessor.SetManagedFields(kept)
		return
	}
	if status := statusOf(object); status.IsValid() {
		status.Set(statusOf(old))
	}
	accessor.SetGeneration(previous.GetGeneration())
	if spec := specOf(object); spec.IsValid() && !apiequality.Semantic.DeepEqual(spec.Interface(), before.FieldByName("Spec").Interface()) {
		accessor.SetGeneration(previous.GetGeneration() + 1)
	}
}

func (strategy) Validate(context.Context, runtime.Object) field.ErrorList { return nil }

func (strategy) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func predicate(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes}
}

// attributes returns what selectors match.
func attributes(object runtime.Object) (labels.Set, fields.Set, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, nil, err
	}
	set := fields.Set{"metadata.name": accessor.GetName()}
	if accessor.GetNamespace() != "" {
		set["metadata.namespace"] = accessor.GetNamespace()
	}
	if pod, ok := object.(*corev1.Pod); ok {
		set["spec.nodeName"], set["status.phase"] = pod.Spec.NodeName, string(pod.Status.Phase)
	}
	return accessor.GetLabels(), set, nil
}

// podField says which fields can select pods.
func podField(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", "spec.nodeName", "status.phase":
		return label, value, nil
	}
	return "", "", fmt.Errorf("pods cannot be selected by the field %q", label)
}
