// Package openapi makes the OpenAPI definitions of an API server from its Go types,
// by reflection when the server starts.
//
// API servers usually compile in what openapi-gen of k8s.io/kube-openapi wrote: for
// the types of apimachinery alone, thousands of lines. The tags of the fields and
// the descriptions that apimachinery's types return suffice for a document that
// clients can use. What only comments say is missing: defaults, enumerations, and
// markers such as +structType=atomic.
package openapi

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Of returns the definitions of the types of samples, and of all types that those
// have fields of. It panics if a type cannot be described, as that is a mistake in
// the program.
func Of(samples ...any) common.GetOpenAPIDefinitions {
	return func(reference common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		d := definitions{reference: reference, made: map[string]common.OpenAPIDefinition{}}
		for _, sample := range samples {
			d.add(reflect.TypeOf(sample))
		}
		return d.made
	}
}

// definitions are those made so far, by the name of the type in the document.
type definitions struct {
	reference common.ReferenceCallback
	made      map[string]common.OpenAPIDefinition
}

// add makes the definition of a struct type, and of what it refers to.
func (d *definitions) add(t reflect.Type) string {
	sample := reflect.New(t).Interface()
	name := util.GetCanonicalTypeName(sample)
	if _, made := d.made[name]; made {
		return name
	}
	d.made[name] = common.OpenAPIDefinition{} // types may refer to themselves
	d.made[name] = d.define(t, sample)
	return name
}

func (d *definitions) define(t reflect.Type, sample any) common.OpenAPIDefinition {
	docs := docsOf(sample)
	definition := common.OpenAPIDefinition{}
	definition.Schema.Description = docs[""]
	// Types that are encoded to something else than a struct say so.
	if typed, ok := sample.(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}); ok {
		definition.Schema.Type, definition.Schema.Format = typed.OpenAPISchemaType(), typed.OpenAPISchemaFormat()
		return definition
	}
	definition.Schema.Type = []string{"object"}
	d.addFields(&definition, t, docs)
	return definition
}

// docsOf returns the descriptions of a type's fields by their names in JSON, and its
// own under the empty name.
func docsOf(sample any) map[string]string {
	if documented, ok := sample.(interface{ SwaggerDoc() map[string]string }); ok {
		return documented.SwaggerDoc()
	}
	return nil
}

// addFields describes the fields of t as properties of a definition. An embedded
// struct without a name of its own has its fields there too.
func (d *definitions) addFields(definition *common.OpenAPIDefinition, t reflect.Type, docs map[string]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
			continue
		case name == "" && field.Anonymous:
			d.addFields(definition, field.Type, docsOf(reflect.New(field.Type).Interface()))
			continue
		case name == "":
			name = field.Name
		}
		property := d.schemaOf(field.Type, &definition.Dependencies)
		property.Description = docs[name]
		for tag, extension := range map[string]string{
			"patchStrategy": "x-kubernetes-patch-strategy",
			"patchMergeKey": "x-kubernetes-patch-merge-key",
		} {
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

// schemaOf describes a value of type t. Structs are referred to, which is noted in
// dependencies.
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
