package registry

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// Watch implements target.API. Like the HTTP handler it reports some errors, above all
// an expired RV, with an ERROR event on an open stream.
func (h *Handler) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	w, err := h.watch(OfClient(ctx), stream)
	if err != nil {
		stream.Err, stream.Message, stream.Answer = CodeOf(err), err.Error(), AnswerOf(err)
		return nil
	}
	return w
}

func (h *Handler) watch(ctx context.Context, stream *model.Stream) (target.Watch, error) {
	if h.isStopped() {
		return nil, errStopped
	}
	options := &internalversion.ListOptions{
		Watch:               true,
		LabelSelector:       LabelSelector(stream.Selector),
		FieldSelector:       FieldSelector(stream.Scope, stream.Selector),
		ResourceVersion:     FormatRV(stream.RV),
		AllowWatchBookmarks: stream.Bookmarks,
	}
	if stream.InitialEvents {
		if h.Release.AskForInitialEvents != nil {
			h.Release.AskForInitialEvents(options)
		}
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	if err := h.validate(options); err != nil {
		return nil, err
	}
	key, storageOptions := storageOptionsOf(stream.Scope, options)
	// The registry omits the match, which is implied.
	storageOptions.ResourceVersionMatch = ""
	if h.Release.PassInitialEvents != nil {
		h.Release.PassInitialEvents(options, &storageOptions)
	}
	ctx, cancel := context.WithCancel(request.WithNamespace(ctx, stream.Scope.Namespace))
	if stream.Timeout > 0 {
		// The request ends when the client's timeout is over. The cache sees the deadline,
		// too. Where the client requests none, kube-apiserver sets one that is longer than
		// any run.
		ctx, cancel = context.WithTimeout(ctx, time.Duration(stream.Timeout))
	}
	inner, err := h.Storage.Watch(ctx, key, storageOptions)
	if err != nil {
		cancel()
		return nil, storeerr.InterpretWatchError(err, PodResource, "")
	}
	return NewClientWatch(ctx, cancel, inner, stream), nil
}
