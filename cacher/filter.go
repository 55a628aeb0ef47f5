package cacher

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/sharding"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/metrics"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// filter is what a watch requests: a scope and selectors.
type filter struct {
	prefix string // the key, and all below it
	label  labels.Selector
	field  fields.Selector
	shard  sharding.Selector // nil for none
	// resource is for counting objects outside of the shard.
	resource schema.GroupResource
	// selects is false if the scope alone decides.
	selects bool
}

func newFilter(prefix string, predicate storage.SelectionPredicate, resource schema.GroupResource) filter {
	f := filter{prefix: prefix, label: predicate.Label, field: predicate.Field, selects: !predicate.Empty(), resource: resource}
	if predicate.ShardSelector != nil && !predicate.ShardSelector.Empty() && utilfeature.DefaultFeatureGate.Enabled(features.ShardedListAndWatch) {
		f.shard = predicate.ShardSelector
	}
	return f
}

// matches reports whether an object is requested; nil never is.
func (f *filter) matches(e *element) bool {
	if e == nil || !below(e.key, f.prefix) {
		return false
	}
	if !f.selects {
		return true
	}
	if f.shard != nil {
		switch matched, err := f.shard.Matches(e.object); {
		case err != nil:
			utilruntime.HandleError(fmt.Errorf("shard of %s: %w", e.key, err))
			return false
		case !matched:
			metrics.RecordWatchFilteredEvent(f.resource)
			return false
		}
	}
	return (f.label == nil || f.label.Matches(e.labels)) && (f.field == nil || f.field.Matches(e.fields))
}

// convert converts a change into the event that a watch with this filter delivers, depending on
// whether the object enters, stays in or leaves the selection. It returns false if the change does
// not concern the watch.
func (c *Cacher) convert(e *event, f *filter) (watch.Event, bool) {
	was := f.matches(e.before)
	is := e.kind != watch.Deleted && f.matches(e.after)
	switch {
	case is && was:
		return watch.Event{Type: watch.Modified, Object: e.shareAfter()}, true
	case is:
		return watch.Event{Type: watch.Added, Object: e.shareAfter()}, true
	case was:
		return watch.Event{Type: watch.Deleted, Object: c.shareBefore(e)}, true
	default:
		return watch.Event{}, false
	}
}

func (e *event) shareAfter() runtime.Object {
	return share(&e.payloads.after, func() runtime.Object { return e.after.object })
}

// shareBefore returns the last state that matched, at the RV at which it no longer did.
func (c *Cacher) shareBefore(e *event) runtime.Object {
	return share(&e.payloads.before, func() runtime.Object {
		left := e.before.object.DeepCopyObject()
		if err := c.config.Versioner.UpdateObject(left, e.rv); err != nil {
			utilruntime.HandleError(fmt.Errorf("resourceVersion of %s: %w", e.key, err))
		}
		return left
	})
}
