package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// thing has fields of all the shapes that types of an API have.
type thing struct {
	metav1.TypeMeta `json:",inline"`
	Name            string            `json:"name"`
	Count           *int32            `json:"count,omitempty"`
	Ratio           float64           `json:"ratio,omitempty"`
	Key             []byte            `json:"key,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Parts           []part            `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Since           metav1.Time       `json:"since,omitempty"`
	Inside          *thing            `json:"inside,omitempty"` // types may refer to themselves
	Hidden          func()            `json:"-"`
}

func (thing) OpenAPIModelName() string { return "thing" }
func (thing) SwaggerDoc() map[string]string {
	return map[string]string{"": "A thing.", "name": "What it is called."}
}

type part struct {
	Name string `json:"name"`
}

func (part) OpenAPIModelName() string { return "part" }

func TestDefinitions(t *testing.T) {
	definitions := definitionsOf(thing{})(func(name string) spec.Ref { return spec.MustCreateRef("#/" + name) })
	require.Len(t, definitions, 3)
	schema := func(name string) string {
		text, err := json.Marshal(definitions[name].Schema)
		require.NoError(t, err)
		return string(text)
	}
	require.ElementsMatch(t, []string{"part", "thing", "io.k8s.apimachinery.pkg.apis.meta.v1.Time"}, definitions["thing"].Dependencies)
	require.JSONEq(t, `{
		"type": "object",
		"description": "A thing.",
		"required": ["name"],
		"properties": {
			"kind":       {"type": "string", "description": "`+metav1.TypeMeta{}.SwaggerDoc()["kind"]+`"},
			"apiVersion": {"type": "string", "description": "`+metav1.TypeMeta{}.SwaggerDoc()["apiVersion"]+`"},
			"name":   {"type": "string", "description": "What it is called."},
			"count":  {"type": "integer", "format": "int32"},
			"ratio":  {"type": "number", "format": "double"},
			"key":    {"type": "string", "format": "byte"},
			"labels": {"type": "object", "additionalProperties": {"type": "string"}},
			"parts":  {"type": "array", "items": {"$ref": "#/part"},
				"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
			"since":  {"$ref": "#/io.k8s.apimachinery.pkg.apis.meta.v1.Time"},
			"inside": {"$ref": "#/thing"}
		}
	}`, schema("thing"))
	require.JSONEq(t, `{"type": "string", "format": "date-time"}`, schema("io.k8s.apimachinery.pkg.apis.meta.v1.Time"))

	type wrong struct {
		Field chan int `json:"field"`
	}
	require.PanicsWithValue(t, "expected fields of types that JSON has, found chan int", func() {
		definitionsOf(wrong{})(func(string) spec.Ref { return spec.Ref{} })
	})
}
