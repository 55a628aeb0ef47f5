package v1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The API group, and the names of its one resource.
var (
	GroupVersion = schema.GroupVersion{Group: "example.watchsim.dev", Version: "v1"}
	Resource     = GroupVersion.WithResource("widgets")
	Kind         = GroupVersion.WithKind("Widget")
)

// AddToScheme makes a scheme know widgets.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return scheme.AddFieldLabelConversionFunc(Kind, selectable)
}

// selectable refuses field selectors that the server cannot evaluate.
func selectable(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", NodeNameField:
		return label, value, nil
	}
	return "", "", fmt.Errorf("expected a field selector on metadata.name, metadata.namespace or %s, found %q", NodeNameField, label)
}
