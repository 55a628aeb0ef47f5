package kubernetes

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
)

// release adapts the registry to Kubernetes 0.26, which does not know sendInitialEvents and rejects
// the resourceVersionMatch that clients send with it.
var release = registry.Release{
	Validate: validate,
	Delete: func(ctx context.Context, store storage.Interface, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc) error {
		return store.Delete(ctx, key, out, preconditions, validate, nil)
	},
}

// validate calls the release's validation, or that of 0.27, which `simrun bisect` also builds: it
// takes a parameter for whether the server supports sendInitialEvents.
func validate(options *internalversion.ListOptions) field.ErrorList {
	switch released := any(validation.ValidateListOptions).(type) {
	case func(*internalversion.ListOptions) field.ErrorList:
		return released(options)
	case func(*internalversion.ListOptions, bool) field.ErrorList:
		return released(options, false)
	}
	return field.ErrorList{field.InternalError(nil, errors.New("expected the ValidateListOptions of Kubernetes 0.26 or 0.27, found another"))}
}
