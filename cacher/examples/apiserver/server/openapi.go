package server

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// describe returns the OpenAPI definitions of widgets, and of the common types of API servers. API
// servers usually compile in the output of openapi-gen of k8s.io/kube-openapi, thousands of lines
// for the types of apimachinery alone. Tags of fields and the descriptions of apimachinery's types
// suffice for a usable document. What is only in comments is missing: defaults, enumerations, and
// markers such as +structType=atomic.
var describe = definitionsOf(
	v1.Widget{}, v1.WidgetList{},
	metav1.APIGroup{}, metav1.APIGroupList{}, metav1.APIResourceList{}, metav1.DeleteOptions{},
	metav1.Patch{}, metav1.Status{}, metav1.WatchEvent{}, version.Info{},
)

// definitionsOf returns the definitions of the types of samples, and of all types of their fields.
// It panics if a type cannot be described, which is a mistake in the program.
func definitionsOf(samples ...any) common.GetOpenAPIDefinitions {
	return func(reference common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		d := definitions{reference, map[string]common.OpenAPIDefinition{}}
		for _, sample := range samples {
			d.add(reflect.TypeOf(sample))
		}
		return d.made
	}
}

// definitions are those made so far, by the type's name in the document.
type definitions struct {
	reference common.ReferenceCallback
	made      map[string]common.OpenAPIDefinition
}

// add makes the definition of a struct type, and of the types that it refers to.
func (d *definitions) add(t reflect.Type) (name string) {
	sample := reflect.New(t).Interface()
	name = util.GetCanonicalTypeName(sample)
	if _, made := d.made[name]; made {
		return name
	}
	var definition common.OpenAPIDefinition
	d.made[name] = definition // types may refer to themselves
	definition.Schema.Type, definition.Schema.Description = []string{"object"}, docsOf(t)[""]
	// Types that are not encoded as structs declare it.
	if typed, ok := sample.(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}); ok {
		definition.Schema.Type, definition.Schema.Format = typed.OpenAPISchemaType(), typed.OpenAPISchemaFormat()
	} else {
		d.addFields(&definition, t)
	}
	d.made[name] = definition
	return name
}

// docsOf returns the descriptions of a type's fields by their JSON names, and its own under the
// empty name.
func docsOf(t reflect.Type) map[string]string {
	if documented, ok := reflect.New(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return documented.SwaggerDoc()
	}
	return nil
}

// addFields describes the fields of t as properties. Those of an embedded struct without a
// name are properties too.
func (d *definitions) addFields(definition *common.OpenAPIDefinition, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
			continue
		case name == "" && field.Anonymous:
			d.addFields(definition, field.Type)
			continue
		case name == "":
			name = field.Name
		}
		property := d.schemaOf(field.Type, &definition.Dependencies)
		property.Description = docsOf(t)[name]
		for tag, extension := range map[string]string{"patchStrategy": "x-kubernetes-patch-strategy", "patchMergeKey": "x-kubernetes-patch-merge-key"} {
			if value := field.Tag.Get(tag); value != "" {
				property.AddExtension(extension, value)
			}
		}
		definition.Schema.SetProperty(name, property)
		if !strings.Contains(options, "omitempty") {
			definition.Schema.AddRequired(name)
		}
	}
}

// schemaOf describes a value of type t. Structs are referenced, which is noted in dependencies.
func (d *definitions) schemaOf(t reflect.Type, dependencies *[]string) spec.Schema {
	switch t.Kind() {
	case reflect.Pointer:
		return d.schemaOf(t.Elem(), dependencies)
	case reflect.Struct:
		name := d.add(t)
		*dependencies = append(*dependencies, name)
		return spec.Schema{SchemaProps: spec.SchemaProps{Ref: d.reference(name)}}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return *spec.StrFmtProperty("byte")
		}
		items := d.schemaOf(t.Elem(), dependencies)
		return *spec.ArrayProperty(&items)
	case reflect.Map:
		values := d.schemaOf(t.Elem(), dependencies)
		return *spec.MapProperty(&values)
	}
	kind, format := common.OpenAPITypeFormat(t.Kind().String())
	if kind == "" {
		panic(fmt.Sprintf("expected fields of types that JSON has, found %v", t))
	}
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{kind}, Format: format}}
}
