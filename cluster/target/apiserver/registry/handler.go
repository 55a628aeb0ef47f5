package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"
)

// Handler serves one API server's requests for pods. Its methods Do and Watch implement
// those of target.API.
type Handler struct {
	// Storage serves the requests: the cache.
	Storage storage.Interface
	// Release adapts the handler to a release of Kubernetes.
	Release Release
	// Stopped is closed when the server accepts no more requests.
	Stopped <-chan struct{}
	// TTL returns the time to live of objects written now, in seconds; 0 is forever.
	TTL func() uint64
	// Padding is the number of bytes added to each stored pod.
	Padding int
	// InPlace makes update functions change the pod that the storage gives them, instead of a new
	// one.
	InPlace bool
	// InValidation makes the validation of the stored pod check the preconditions of deletions, as
	// admission does, instead of the storage.
	InValidation bool
}

// Release adapts to releases of Kubernetes, which differ in how an API server uses its storage.
type Release struct {
	// Validate fills in and checks the options of a list or watch.
	Validate func(*internalversion.ListOptions) field.ErrorList
	// Delete calls the storage's Delete without a cached object.
	Delete func(ctx context.Context, storage storage.Interface, key string, out runtime.Object, preconditions *storage.Preconditions,
		validate storage.ValidateObjectFunc) error
	// AskForInitialEvents sets sendInitialEvents on a request. A nil function stands
	// for a release without the parameter, which ignores it, as every HTTP server does,
	// and rejects the resourceVersionMatch that goes with it.
	AskForInitialEvents func(*internalversion.ListOptions)
	// PassInitialEvents passes the parameter to the storage; nil if the release has
	// none.
	PassInitialEvents func(*internalversion.ListOptions, *storage.ListOptions)
}
