// Package v1 is the API of the example server: widgets, in version v1. Clients import only this
// package.
package v1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// NodeNameField is the field of a widget that field selectors may name, besides
// metadata.name and metadata.namespace.
const NodeNameField = "spec.nodeName"

// Widget is something that runs on a node. It has the features that matter to a watch cache:
// labels, and a selectable field, as pods have.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WidgetSpec `json:"spec,omitempty"`
}

// WidgetSpec is what the owner of a widget asks for.
type WidgetSpec struct {
	// NodeName is where the widget runs, empty as long as nobody has decided.
	NodeName string `json:"nodeName,omitempty"`
	// Size is how many units the widget is made of. It is not negative.
	Size int32 `json:"size,omitempty"`
	// Notes are for people. They make a widget as large as it has to be.
	Notes []string `json:"notes,omitempty"`
}

// WidgetList is what a list of widgets answers.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Widget `json:"items"`
}

// OpenAPIModelName is the name of the type in the OpenAPI document.
func (Widget) OpenAPIModelName() string { return "dev.watchsim.example.v1.Widget" }

// OpenAPIModelName is the name of the type in the OpenAPI document.
func (WidgetSpec) OpenAPIModelName() string { return "dev.watchsim.example.v1.WidgetSpec" }

// OpenAPIModelName is the name of the type in the OpenAPI document.
func (WidgetList) OpenAPIModelName() string { return "dev.watchsim.example.v1.WidgetList" }

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
