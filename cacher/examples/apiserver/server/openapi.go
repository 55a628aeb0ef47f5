package server

import (
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// describe returns the OpenAPI definitions of widgets, and of the types of all API servers. API
// servers usually compile in the output of openapi-gen of k8s.io/kube-openapi, thousands of lines
// for the types of apimachinery alone. Those of k8s.io/apiextensions-apiserver serve here as well:
// what it defines besides gets into no document, as nothing refers to it.
func describe(reference common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	object, list := metav1.ObjectMeta{}.OpenAPIModelName(), metav1.ListMeta{}.OpenAPIModelName()
	widget, widgetSpec := v1.Widget{}.OpenAPIModelName(), v1.WidgetSpec{}.OpenAPIModelName()
	referTo := func(name string) *spec.Schema {
		return &spec.Schema{SchemaProps: spec.SchemaProps{Ref: reference(name)}}
	}
	all := openapi.GetOpenAPIDefinitions(reference)
	status := all[metav1.Status{}.OpenAPIModelName()].Schema.Properties
	kind, version := status["kind"], status["apiVersion"] // as of every object
	all[widget] = structOf("Widget is something that runs on a node.", map[string]*spec.Schema{
		"kind": &kind, "apiVersion": &version, "metadata": referTo(object),
		"spec": referTo(widgetSpec).WithDescription("Spec is what the owner of a widget asks for."),
	}, object, widgetSpec)
	all[widgetSpec] = structOf("WidgetSpec is what the owner of a widget asks for.", map[string]*spec.Schema{
		"nodeName": spec.StringProperty().WithDescription("NodeName is where the widget runs, empty as long as nobody has decided."),
		"size":     spec.Int32Property().WithDescription("Size is how many units the widget is made of. It is not negative."),
		"notes":    spec.ArrayProperty(spec.StringProperty()).WithDescription("Notes are for people. They make a widget as large as it has to be."),
	})
	widgets := structOf("WidgetList is what a list of widgets answers.", map[string]*spec.Schema{
		"kind": &kind, "apiVersion": &version, "metadata": referTo(list),
		"items": spec.ArrayProperty(referTo(widget)),
	}, list, widget)
	widgets.Schema.AddRequired("items")
	all[v1.WidgetList{}.OpenAPIModelName()] = widgets
	return all
}

// structOf defines a struct by its fields, and the definitions that these refer to.
func structOf(description string, fields map[string]*spec.Schema, refersTo ...string) common.OpenAPIDefinition {
	schema := (&spec.Schema{}).Typed("object", "").WithDescription(description)
	for name, field := range fields {
		schema.SetProperty(name, *field)
	}
	return common.OpenAPIDefinition{Schema: *schema, Dependencies: refersTo}
}
