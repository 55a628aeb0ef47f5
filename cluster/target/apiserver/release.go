package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
)

// release adapts the registry to the Kubernetes release in go.mod.
var release = registry.Release{
	Validate: func(options *internalversion.ListOptions) field.ErrorList {
		watchList := utilfeature.DefaultFeatureGate.Enabled(features.WatchList)
		internalversion.SetListOptionsDefaults(options, watchList)
		return validation.ValidateListOptions(options, watchList)
	},
	Delete: func(ctx context.Context, store storage.Interface, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc) error {
		return store.Delete(ctx, key, out, preconditions, validate, nil, storage.DeleteOptions{})
	},
	AskForInitialEvents: func(options *internalversion.ListOptions) {
		send := true
		options.SendInitialEvents = &send
	},
	PassInitialEvents: func(options *internalversion.ListOptions, passed *storage.ListOptions) {
		passed.SendInitialEvents = options.SendInitialEvents
	},
}
