//go:build watchsim

package simtest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"pgregory.net/rapid"
)

// The bounds of drawn objects.
const (
	// maxItems is how many items more than the minimum arrays and maps get, and maxRunes how many
	// more characters strings get.
	maxItems = 3
	maxRunes = 12
	// maxNumber bounds numbers that have no bounds of their own.
	maxNumber = 1000
)

// names are those of drawn objects: few, so that names are reused.
var names = []string{"a", "b", "c", "d"}

// objectsOf draws objects of a definition.
func objectsOf(of *unstructured.Unstructured) (*rapid.Generator[*unstructured.Unstructured], error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of.Object, &definition); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 || definition.Spec.Versions[i].Schema == nil || definition.Spec.Versions[i].Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("expected a stored version with a schema, found none")
	}
	version := definition.Spec.Versions[i]
	schema := version.Schema.OpenAPIV3Schema.DeepCopy()
	for _, name := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(schema.Properties, name)
	}
	valid, err := validator(version.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return rapid.Custom(func(t *rapid.T) *unstructured.Unstructured {
		fields, _ := valueOf(schema).Draw(t, "fields").(map[string]any)
		object := &unstructured.Unstructured{Object: fields}
		object.SetAPIVersion(definition.Spec.Group + "/" + version.Name)
		object.SetKind(definition.Spec.Names.Kind)
		object.SetName(rapid.SampledFrom(names).Draw(t, "name"))
		if definition.Spec.Scope == apiextensionsv1.NamespaceScoped {
			object.SetNamespace("default")
		}
		return object
	}).Filter(valid), nil
}

// validator returns a function that reports whether API servers accept an object, with their code.
func validator(schema *apiextensionsv1.JSONSchemaProps) (func(*unstructured.Unstructured) bool, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	values, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return func(object *unstructured.Unstructured) bool {
		whole := object.DeepCopy().Object
		defaulting.Default(whole, structural)
		if len(validation.ValidateCustomResource(nil, whole, values)) > 0 || len(objectmeta.Validate(context.Background(), nil, whole, structural, false)) > 0 ||
			len(listtype.ValidateListSetsAndMaps(nil, structural, whole)) > 0 {
			return false
		}
		refused, _ := rules.Validate(context.Background(), nil, structural, whole, nil, celconfig.RuntimeCELCostBudget)
		return len(refused) == 0
	}, nil
}

// valueOf draws values of a schema; it returns nil where the schema allows anything.
func valueOf(schema *apiextensionsv1.JSONSchemaProps) *rapid.Generator[any] {
	switch {
	case len(schema.Enum) > 0:
		return rapid.Map(rapid.SampledFrom(schema.Enum), func(encoded apiextensionsv1.JSON) (value any) {
			_ = json.Unmarshal(encoded.Raw, &value) // it was JSON
			return value
		})
	case schema.XIntOrString:
		return rapid.OneOf(rapid.Int64Range(0, maxNumber).AsAny(), rapid.Map(rapid.IntRange(0, 100), func(n int) any { return fmt.Sprintf("%d%%", n) }))
	}
	switch schema.Type {
	case "boolean":
		return rapid.Bool().AsAny()
	case "integer":
		low, high := bounds(schema, 1)
		step := int64(1)
		if schema.MultipleOf != nil {
			step = max(1, int64(*schema.MultipleOf))
		}
		first, last := int64(math.Ceil(low/float64(step))), int64(math.Floor(high/float64(step)))
		return rapid.Map(rapid.Int64Range(first, max(first, last)), func(n int64) any { return n * step })
	case "number":
		low, high := bounds(schema, 1e-3)
		return rapid.Map(rapid.Float64Range(low, max(low, high)), func(number float64) any {
			if whole := int64(number); float64(whole) == number && math.Abs(number) < 1<<53 {
				return whole // a decoder reads 0.0 as 0
			}
			return number
		})
	case "string":
		return stringOf(schema).AsAny()
	case "array":
		return arrayOf(schema)
	case "object":
		return objectOf(schema)
	}
	return rapid.Just[any](nil)
}

// bounds returns the inclusive bounds of a number.
func bounds(schema *apiextensionsv1.JSONSchemaProps, step float64) (low, high float64) {
	low, high = -maxNumber, maxNumber
	if schema.Minimum != nil {
		if low = *schema.Minimum; schema.ExclusiveMinimum {
			low += step
		}
		high = max(high, low+maxNumber)
	}
	if schema.Maximum != nil {
		if high = *schema.Maximum; schema.ExclusiveMaximum {
			high -= step
		}
		if schema.Minimum == nil {
			low = min(low, high-maxNumber)
		}
	}
	return low, high
}

// size returns the bounds for the number of items.
func size(least, most *int64, more int) (from, to int) {
	if least != nil {
		from = int(*least)
	}
	if to = from + more; most != nil {
		to = min(to, int(*most))
	}
	return from, max(from, to)
}

// letters are the characters of strings, chosen so that most parsers accept them.
var letters = rapid.RuneFrom([]rune("abcdefghijklmnopqrstuvwxyz0123456789"))

// formats are patterns of strings in the formats that API servers know, by names without hyphens
// (k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go). Formats with a check digit have a few fixed strings.
var formats = map[string]string{
	"bsonobjectid": `[0-9a-f]{24}`,
	"cidr":         `10\.[0-9]\.0\.0/16`,
	"creditcard":   `4111111111111111|5555555555554444`,
	"duration":     `[0-9]{1,3}(ms|s|m)`,
	"email":        `[a-z]{1,8}@example\.com`,
	"hexcolor":     `#[0-9a-f]{6}`,
	"hostname":     `[a-z]{1,8}\.example\.com`,
	"ipv4":         `10\.[0-9]\.[0-9]\.[0-9]`,
	"ipv6":         `fd00::[1-9a-f]`,
	"isbn":         `0321751043|978-0321751041`,
	"isbn10":       `0321751043|0131103628`,
	"isbn13":       `978-0321751041|978-0131103627`,
	"k8slongname":  `[a-z]{1,8}\.[a-z]{1,8}`,
	"k8sshortname": `[a-z]{1,8}`,
	"mac":          `02:00:00:00:[0-9a-f]{2}:[0-9a-f]{2}`,
	"rgbcolor":     `rgb\([1-9][0-9], [1-9][0-9], [1-9][0-9]\)`,
	"ssn":          `[0-9]{3}-[0-9]{2}-[0-9]{4}`,
	"uri":          `https://[a-z]{1,8}\.example\.com/[a-z]{0,8}`,
	"uuid":         `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}`,
	"uuid3":        `[0-9a-f]{8}-[0-9a-f]{4}-3[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}`,
	"uuid4":        `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}`,
	"uuid5":        `[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}`,
}

func stringOf(schema *apiextensionsv1.JSONSchemaProps) *rapid.Generator[string] {
	from, to := size(schema.MinLength, schema.MaxLength, maxRunes)
	fits := func(s string) bool {
		length := int64(len([]rune(s)))
		return length >= int64(from) && (schema.MaxLength == nil || length <= *schema.MaxLength)
	}
	if schema.Pattern != "" {
		return rapid.StringMatching(schema.Pattern).Filter(fits)
	}
	second := rapid.Map(rapid.Int64Range(0, 4e9), func(n int64) time.Time { return time.Unix(n, 0).UTC() })
	switch format := strings.ReplaceAll(schema.Format, "-", ""); format {
	case "datetime":
		return rapid.Map(second, func(t time.Time) string { return t.Format(time.RFC3339) })
	case "date":
		return rapid.Map(second, func(t time.Time) string { return t.Format(time.DateOnly) })
	case "byte":
		return rapid.Map(rapid.SliceOfN(rapid.Byte(), max(1, from), max(1, to)), base64.StdEncoding.EncodeToString)
	default:
		if pattern, known := formats[format]; known {
			return rapid.StringMatching(pattern).Filter(fits)
		}
	}
	return rapid.StringOfN(letters, from, to, -1)
}

func arrayOf(schema *apiextensionsv1.JSONSchemaProps) *rapid.Generator[any] {
	if schema.Items == nil || schema.Items.Schema == nil {
		return rapid.Just[any](nil)
	}
	from, to := size(schema.MinItems, schema.MaxItems, maxItems)
	items := valueOf(schema.Items.Schema)
	kind := ""
	if schema.XListType != nil {
		kind = *schema.XListType
	}
	if kind != "set" && kind != "map" {
		return rapid.SliceOfN(items, from, to).AsAny()
	}
	return rapid.SliceOfNDistinct(items, from, to, func(item any) string {
		fields, is := item.(map[string]any)
		if kind == "set" || !is {
			return fmt.Sprint(item)
		}
		var key strings.Builder
		for _, name := range schema.XListMapKeys {
			fmt.Fprintf(&key, "%q ", fmt.Sprint(fields[name]))
		}
		return key.String()
	}).AsAny()
}

func objectOf(schema *apiextensionsv1.JSONSchemaProps) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		object, more := map[string]any{}, rapid.Bool().Draw(t, "more than it must")
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			property := schema.Properties[name]
			if !slices.Contains(schema.Required, name) && (!more || !rapid.Bool().Draw(t, "has "+name)) {
				continue
			}
			if value := valueOf(&property).Draw(t, name); value != nil {
				object[name] = value
			}
		}
		if others := schema.AdditionalProperties; others != nil && others.Schema != nil {
			from, to := size(schema.MinProperties, schema.MaxProperties, maxItems)
			keys := rapid.StringOfN(letters, 1, maxRunes, -1)
			maps.Copy(object, rapid.MapOfN(keys, valueOf(others.Schema), from, to).Draw(t, "properties"))
		}
		if schema.XEmbeddedResource {
			embed(object, rapid.SampledFrom(names).Draw(t, "name"))
		}
		return object
	})
}

// embed completes an embedded object: it becomes a config map of that name unless its schema says otherwise.
func embed(object map[string]any, name string) {
	for field, value := range map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}} {
		if _, has := object[field]; !has {
			object[field] = value
		}
	}
}
