package traces

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// field is one of the fields that a record has in JSON.
type field struct {
	name     string
	of       reflect.Type
	required bool
	isList   bool // null is an empty list, not a missing one
	isObject bool // or a list of objects
}

var fieldsOfTypes sync.Map // of reflect.Type to []field

// fieldsOf returns the fields of a struct, or of the elements of a pointer or a list.
// All that are not marked omitempty are required.
func fieldsOf(of reflect.Type) []field {
	if known, is := fieldsOfTypes.Load(of); is {
		return known.([]field)
	}
	var fields []field
	inner := of
	for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
		inner = inner.Elem()
	}
	for i := 0; inner.Kind() == reflect.Struct && i < inner.NumField(); i++ {
		name, options, _ := strings.Cut(inner.Field(i).Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		f := field{name: name, of: inner.Field(i).Type, required: options != "omitempty"}
		f.isList, f.isObject = f.of.Kind() == reflect.Slice, len(fieldsOf(f.of)) > 0
		fields = append(fields, f)
	}
	fieldsOfTypes.Store(of, fields)
	return fields
}

// missing returns the path of the first required field that valid JSON lacks, empty if
// it lacks none. null counts as missing. encoding/json leaves a missing field at zero,
// which is a valid value of many fields, so that an incorrectly written history would be
// judged for something that never happened.
func missing(of reflect.Type, data []byte) string {
	if of.Kind() == reflect.Slice {
		var elements []json.RawMessage
		_ = json.Unmarshal(data, &elements) // it was decoded before, here and below
		for i, element := range elements {
			if inner := missing(of.Elem(), element); inner != "" {
				return fmt.Sprintf("[%d].%s", i, inner)
			}
		}
		return ""
	}
	if string(data) == "null" {
		return ""
	}
	var present map[string]json.RawMessage
	_ = json.Unmarshal(data, &present)
	fields := fieldsOf(of)
	for i := range fields {
		if value := present[fields[i].name]; fields[i].required && (value == nil || !fields[i].isList && string(value) == "null") {
			return fields[i].name
		}
	}
	for i := range fields {
		value := present[fields[i].name]
		if !fields[i].isObject || value == nil {
			continue
		}
		if inner := missing(fields[i].of, value); inner != "" {
			return strings.Replace(fields[i].name+"."+inner, ".[", "[", 1)
		}
	}
	return ""
}

// misfit says why data could not be decoded.
func misfit(err error) string {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) || mismatch.Type == nil {
		return err.Error()
	}
	expected := "an object"
	switch mismatch.Type.Kind() {
	case reflect.String:
		expected = "a string"
	case reflect.Bool:
		expected = "true or false"
	case reflect.Slice:
		expected = "a list"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		expected = "a whole number of 64 bits"
	}
	field := "its data"
	if mismatch.Field != "" {
		field = "field " + mismatch.Field
	}
	return fmt.Sprintf("%s: expected %s, found %s", field, expected, mismatch.Value)
}

// Schema is the JSON Schema (draft 2020-12) of one line of a history. It says what
// must hold for a single line; [Validate] checks all lines together.
//
//go:embed schema/history.schema.json
var Schema string
