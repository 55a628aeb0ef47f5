// Package registry answers one question: what does an API server ask of the storage
// of a resource, on behalf of a client? Requests take the path here that they take in
// the HTTP handlers and the generic registry: defaults and validation of options, the
// key, the selectors, and the calls of storage.Interface.
//
// It keeps to what has been in Kubernetes for long, so that it compiles against the
// releases of cluster/released as well as against the one that go.mod names. [Release] is
// what differs between them.
//
//   - handler.go: the handler, and what differs between releases
//   - operations.go: reads, writes and lists
//   - watch.go: watches
package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"
)

// Handler serves one API server's requests for pods. Its methods Do and Watch are
// those of target.API.
type Handler struct {
	// Storage is what requests go to: the cache.
	Storage storage.Interface
	// Release is what the release of Kubernetes does in its own way.
	Release Release
	// Stopped is closed when the server takes no more requests.
	Stopped <-chan struct{}
	// TTL is the time to live of what is written now, in seconds, and 0 is for ever;
	// nil stands for that.
	TTL func() uint64
}

func (h *Handler) ttl() uint64 {
	if h.TTL == nil {
		return 0
	}
	return h.TTL()
}

// Release is what differs between releases of Kubernetes in how an API server goes
// about its storage.
type Release struct {
	// Validate fills in and checks the options of a list or watch.
	Validate func(*internalversion.ListOptions) field.ErrorList
	// Delete calls the storage's method of that name, without validation and
	// without an object known to be there.
	Delete func(ctx context.Context, storage storage.Interface, key string, out runtime.Object, preconditions *storage.Preconditions) error
	// AskForInitialEvents sets sendInitialEvents on a request. A release that does
	// not know the parameter ignores it, as every HTTP server does, and refuses the
	// resourceVersionMatch that goes with it; nil stands for one.
	AskForInitialEvents func(*internalversion.ListOptions)
	// PassInitialEvents hands the parameter on to the storage; nil where there is none.
	PassInitialEvents func(*internalversion.ListOptions, *storage.ListOptions)
}
