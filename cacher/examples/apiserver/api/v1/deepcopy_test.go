package v1

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
)

// TestDeepCopyObject fills objects with random values and looks for memory that a
// copy shares with its original.
func TestDeepCopyObject(t *testing.T) {
	filler := randfill.NewWithSeed(1).NilChance(0).NumElements(2, 3)
	for _, object := range []runtime.Object{&Widget{}, &WidgetList{}} {
		filler.Fill(object)
		copied := object.DeepCopyObject()
		require.Equal(t, object, copied)
		requireNothingShared(t, reflect.ValueOf(object), reflect.ValueOf(copied), reflect.TypeOf(object).String())
	}
}

// requireNothingShared walks two values of one shape.
func requireNothingShared(t *testing.T, a, b reflect.Value, path string) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			return
		}
		require.NotEqual(t, a.Pointer(), b.Pointer(), path)
		requireNothingShared(t, a.Elem(), b.Elem(), path)
	case reflect.Slice:
		require.NotEqual(t, a.Pointer(), b.Pointer(), path)
		for i := range a.Len() {
			requireNothingShared(t, a.Index(i), b.Index(i), path+"[]")
		}
	case reflect.Map:
		require.NotEqual(t, a.Pointer(), b.Pointer(), path)
	case reflect.Struct:
		if a.Type().PkgPath() == "time" {
			return // a value; locations are shared on purpose
		}
		for i := range a.NumField() {
			requireNothingShared(t, a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name)
		}
	}
}
