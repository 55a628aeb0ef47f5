package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

var (
	scheme = newScheme()
	codecs = serializer.NewCodecFactory(scheme)
	// storageCodec is how widgets lie in etcd: as JSON of version v1.
	storageCodec = codecs.LegacyCodec(v1.GroupVersion)
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1.AddToScheme(scheme))
	// The registry works on the internal version of a type. As there is only v1, the
	// same Go type serves for both, and nothing is ever converted.
	internal := schema.GroupVersion{Group: v1.GroupVersion.Group, Version: runtime.APIVersionInternal}
	scheme.AddKnownTypes(internal, &v1.Widget{}, &v1.WidgetList{})
	utilruntime.Must(scheme.SetVersionPriority(v1.GroupVersion))

	// What every API server answers with, and the options it is asked with.
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroup{}, &metav1.APIGroupList{}, &metav1.APIResourceList{})
	return scheme
}
