package kubernetes

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
)

// release is what Kubernetes 0.26 does in its own way: it knows no sendInitialEvents,
// and refuses the resourceVersionMatch that clients send with it.
var release = registry.Release{
	Validate: validation.ValidateListOptions,
	Delete: func(ctx context.Context, store storage.Interface, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc) error {
		return store.Delete(ctx, key, out, preconditions, validate, nil)
	},
}
