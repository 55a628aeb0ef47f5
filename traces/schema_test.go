package traces

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// recordTypes has the type of the data of each kind of record.
var recordTypes = func() map[string]reflect.Type {
	types := map[string]reflect.Type{kindEvent: reflect.TypeFor[model.Event](), kindEnd: reflect.TypeFor[end]()}
	for _, part := range parts(&model.History{}) {
		types[part.kind] = part.list.Type().Elem()
	}
	return types
}()

// definition is one entry of the schema's $defs.
type definition struct {
	Properties map[string]struct {
		Ref   string `json:"$ref"`
		Items struct {
			Ref string `json:"$ref"`
		}
		Description string
		Const       any
		Maximum     json.Number
	}
	Required             []string
	AdditionalProperties any
	Description          string
}

func definitions(t *testing.T) map[string]definition {
	var document struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal([]byte(Schema), &document))
	all := map[string]definition{}
	for name, text := range document.Defs {
		var d definition
		if strings.Contains(string(text), `"properties"`) {
			require.NoError(t, json.Unmarshal(text, &d), name)
		}
		all[name] = d
	}
	return all
}

func compiled(t testing.TB) *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, compiler.AddResource("history.schema.json", document))
	schema, err := compiler.Compile("history.schema.json")
	require.NoError(t, err)
	return schema
}

// accepts returns the error of the schema for one line.
func accepts(t *testing.T, schema *jsonschema.Schema, line string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	require.NoError(t, err, line)
	return schema.Validate(value)
}

// TestSchemaHasEveryField compares the schema with the types that are written, and
// fails for each field that one of them lacks, or that only one of them requires.
func TestSchemaHasEveryField(t *testing.T) {
	all := definitions(t)
	seen := map[string]bool{}
	var compare func(name string, of reflect.Type)
	compare = func(name string, of reflect.Type) {
		if seen[name] {
			return
		}
		seen[name] = true
		require.Contains(t, all, name, "traces/schema/history.schema.json lacks %s", of)
		d := all[name]
		var names, required []string
		for _, field := range fieldsOf(of) {
			names = append(names, field.name)
			if field.required {
				required = append(required, field.name)
			}
		}
		require.ElementsMatch(t, names, slices.Collect(maps.Keys(d.Properties)), "the fields of %s and the properties of %s in the schema", of, name)
		require.ElementsMatch(t, required, d.Required, "the fields of %s without omitempty, and what %s requires in the schema", of, name)
		require.Equal(t, false, d.AdditionalProperties, name)
		require.NotEmpty(t, d.Description, name)
		for _, field := range fieldsOf(of) {
			if !field.isObject {
				continue
			}
			inner := field.of
			for inner.Kind() != reflect.Struct {
				inner = inner.Elem()
			}
			inside := strings.ToLower(inner.Name())
			compare(inside, inner)
			property := d.Properties[field.name]
			require.Contains(t, property.Ref+property.Items.Ref, "#/$defs/"+inside, "%s.%s", name, field.name)
		}
	}
	for kind, of := range recordTypes {
		compare(kind, of)
	}
	compare("header", reflect.TypeFor[Header]())
	require.EqualValues(t, HistoryFormat, all["header"].Properties["format"].Const)
	require.Equal(t, strconv.Itoa(HistoryVersion), all["header"].Properties["version"].Maximum.String())
}

// TestEveryPartOfAHistoryIsARecord fails if no kind of record has some part of the
// model.
func TestEveryPartOfAHistoryIsARecord(t *testing.T) {
	carried := []string{"Healed", "End", "Revision", "Steady"} // by the end record
	for _, of := range []reflect.Type{reflect.TypeFor[model.History](), reflect.TypeFor[model.Truth](), reflect.TypeFor[model.Stream]()} {
		for i := range of.NumField() {
			field := of.Field(i)
			switch {
			case of == reflect.TypeFor[model.Stream]() && field.Tag.Get("json") != "-":
			case field.Type.Kind() == reflect.Slice:
				require.Contains(t, slices.Collect(maps.Values(recordTypes)), field.Type.Elem(), "%s.%s", of, field.Name)
			case field.Type != reflect.TypeFor[model.Truth]():
				require.Contains(t, carried, field.Name, "%s", of)
			}
		}
	}
}

// TestExampleFitsTheSchema also requires that the example is complete: each kind of
// record, and each field of each.
func TestExampleFitsTheSchema(t *testing.T) {
	schema := compiled(t)
	shown := map[string]map[string]bool{}
	file, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	for i, line := range strings.Split(strings.TrimSpace(string(file)), "\n") {
		require.NoError(t, accepts(t, schema, line), "line %d", i+1)
		var record struct {
			Kind string
			Data map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		if record.Kind == "" {
			record.Kind = "header"
			require.NoError(t, json.Unmarshal([]byte(line), &record.Data))
		}
		if shown[record.Kind] == nil {
			shown[record.Kind] = map[string]bool{}
		}
		for field := range record.Data {
			shown[record.Kind][field] = true
		}
	}
	all := definitions(t)
	for _, kind := range append(slices.Collect(maps.Keys(recordTypes)), "header") {
		for field := range all[kind].Properties {
			require.True(t, shown[kind][field], "the example shows no %s.%s", kind, field)
		}
	}
}

// TestSchemaRefuses has invalid records.
func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	lines := strings.Split(strings.TrimSpace(written(t, Header{}, example())), "\n")
	for name, change := range map[string]struct{ from, to string }{
		"a missing field":      {`"name":"reset",`, ``},
		"a misspelt field":     {`"limit":1`, `"limits":1`},
		"a field beside data":  {`{"kind":"change",`, `{"kind":"change","date":1,`},
		"a wrong type":         {`"begin":50000000`, `"begin":"soon"`},
		"an unknown kind":      {`"kind":"fault"`, `"kind":"rumour"`},
		"an unknown operation": {`"kind":"delete"`, `"kind":"destroy"`},
		"a negative revision":  {`{"rv":5,`, `{"rv":-5,`},
		"a negative time":      {`"healed":50000000`, `"healed":-5`},
		"an unknown code":      {`"err":"Conflict"`, `"err":"Confusion"`},
		"a newer version":      {`"version":4`, `"version":5`},
		"another format":       {`"watchsim.history"`, `"watchsim.tape"`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := 0
			for _, line := range lines {
				if other := strings.Replace(line, change.from, change.to, 1); other != line {
					changed++
					require.Error(t, accepts(t, schema, other), other)
				}
			}
			require.NotZero(t, changed)
		})
	}
}
