package v1

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopy returns a copy that shares nothing with w.
func (w *Widget) DeepCopy() *Widget {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Notes = slices.Clone(w.Spec.Notes)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = slices.Clone(l.Items)
	for i := range out.Items {
		out.Items[i] = *l.Items[i].DeepCopy()
	}
	return &out
}
