package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"github.com/watchsim/watchsim/model"
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

// requestTimeout is an API server's default request timeout.
const requestTimeout = 60 * time.Second

// listOptionsKind is the kind named in errors about invalid list or watch options.
var listOptionsKind = schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}

// errStopped is the error of a request to a server that has been stopped.
var errStopped = apierrors.NewServiceUnavailable("the server is shut down")

func (h *Handler) Do(ctx context.Context, op *model.Operation, token string) (next string) {
	ctx, cancel := context.WithTimeout(OfClient(ctx), requestTimeout)
	defer cancel()
	var err error
	switch {
	case h.isStopped():
		err = errStopped
	case op.Kind == model.List:
		next, err = h.list(ctx, op, token)
	default:
		err = h.doSingle(ctx, op)
	}
	if err != nil {
		op.Err, op.Message, op.Answer = CodeOf(err), err.Error(), AnswerOf(err)
	}
	return next
}

func (h *Handler) isStopped() bool {
	select {
	case <-h.Stopped:
		return true
	default:
		return false
	}
}

// doSingle performs an operation on one pod.
func (h *Handler) doSingle(ctx context.Context, op *model.Operation) error {
	scope := op.Scope
	if op.Object != nil {
		scope = model.Scope{Namespace: op.Object.Namespace, Name: op.Object.Name}
	}
	if scope.Namespace == "" || scope.Name == "" {
		return apierrors.NewBadRequest("a pod is identified by a namespace and a name")
	}
	key := KeyOf(scope)
	pod := &corev1.Pod{}
	var err error
	interpret := storeerr.InterpretGetError
	switch op.Kind {
	case model.Create:
		err, interpret = h.create(ctx, op, key, pod), storeerr.InterpretCreateError
	case model.Update:
		err, interpret = h.update(ctx, op, key, pod), storeerr.InterpretUpdateError
	case model.Delete:
		err, interpret = h.delete(ctx, op, key, pod), storeerr.InterpretDeleteError
	case model.Get:
		if op.Touch {
			err, interpret = h.update(ctx, op, key, pod), storeerr.InterpretUpdateError
			break
		}
		err = h.Storage.Get(ctx, key, storage.GetOptions{ResourceVersion: FormatRV(op.RV)}, pod)
	default:
		err = apierrors.NewBadRequest(fmt.Sprintf("there is no operation %q", op.Kind))
	}
	if err != nil {
		op.ErrRV = RevisionOf(err)
		return interpret(err, PodResource, scope.Name)
	}
	object := ObjectOf(pod)
	op.ResultRV = object.RV
	if op.Kind != model.Delete {
		op.Objects = []model.Object{object}
	}
	return nil
}

// create stores a new pod. An API server draws the UID at random; here it is derived
// from the operation.
func (h *Handler) create(ctx context.Context, op *model.Operation, key string, out *corev1.Pod) error {
	pod := PaddedPodOf(op.Object, h.Padding)
	pod.UID = types.UID(fmt.Sprintf("%s-%d", op.Client, op.ID))
	return h.Storage.Create(ctx, key, pod, out, h.TTL())
}

// update replaces or touches a pod. As in the registry, the update function checks the RV,
// against the stored pod and possibly against the stale cached one first; the UID is a
// precondition of the storage. If the pod stays as it is, the storage returns the newest
// state, and writes nothing unless the stored value is stale.
func (h *Handler) update(ctx context.Context, op *model.Operation, key string, out *corev1.Pod) error {
	preconditions := &storage.Preconditions{}
	if op.Object != nil && op.Object.UID != "" {
		preconditions.UID = new(types.UID(op.Object.UID))
	}
	replace := func(existing runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
		stored := existing.(*corev1.Pod)
		if op.Precondition != 0 && uint64(op.Precondition) != meta.ResourceVersion {
			return nil, nil, apierrors.NewConflict(PodResource, stored.Name,
				fmt.Errorf("the object is at %d, not at %d", meta.ResourceVersion, op.Precondition))
		}
		pod := h.updated(op, stored)
		if h.InPlace {
			*stored = *pod
			pod = stored
		}
		return pod, new(h.TTL()), nil
	}
	return h.Storage.GuaranteedUpdate(ctx, key, out, false, preconditions, replace, nil)
}

// updated returns the new state of a stored pod: another one, or for a touch the same with the
// labels of its patch.
func (h *Handler) updated(op *model.Operation, stored *corev1.Pod) *corev1.Pod {
	if op.Touch {
		pod := stored.DeepCopy()
		pod.Labels = op.Patched(pod.Labels)
		return pod
	}
	pod := PaddedPodOf(op.Object, h.Padding)
	pod.UID, pod.ResourceVersion = stored.UID, stored.ResourceVersion
	return pod
}

// errEmptiedFinalizers aborts an update that removes the last finalizer of a pod, as it
// does in the registry, which deletes the pod then.
var errEmptiedFinalizers = errors.New("emptied finalizers")

// delete removes a pod immediately, as with a grace period of 0. Like the registry it first reads
// the stored pod. If that has a finalizer, it is removed instead by an update that finds the pod
// terminating.
func (h *Handler) delete(ctx context.Context, op *model.Operation, key string, out *corev1.Pod) error {
	stored := &corev1.Pod{}
	if err := h.Storage.Get(ctx, key, storage.GetOptions{}, stored); err != nil {
		return err
	}
	preconditions := &storage.Preconditions{}
	if op.Precondition != 0 {
		preconditions.ResourceVersion = new(FormatRV(op.Precondition))
	}
	if op.Object != nil && op.Object.UID != "" {
		preconditions.UID = new(types.UID(op.Object.UID))
	}
	if len(stored.Finalizers) > 0 {
		err := h.Storage.GuaranteedUpdate(ctx, key, &corev1.Pod{}, false, preconditions, func(runtime.Object, storage.ResponseMeta) (runtime.Object, *uint64, error) {
			return nil, nil, errEmptiedFinalizers
		}, nil)
		if err != errEmptiedFinalizers {
			return err
		}
	}
	validate := storage.ValidateAllObjectFunc
	if h.InValidation {
		validate, preconditions = inValidation(preconditions), &storage.Preconditions{}
	}
	return h.Release.Delete(ctx, h.Storage, key, out, preconditions, validate)
}

// inValidation returns a validation of deletions that rejects an object if it does not meet the
// preconditions. The storage may call it with a stale object of the cache, and must then call it
// again.
func inValidation(preconditions *storage.Preconditions) storage.ValidateObjectFunc {
	return func(_ context.Context, object runtime.Object) error {
		pod := object.(*corev1.Pod)
		if rv := preconditions.ResourceVersion; rv != nil && *rv != pod.ResourceVersion {
			return apierrors.NewConflict(PodResource, pod.Name, fmt.Errorf("the object is at %s, not at %s", pod.ResourceVersion, *rv))
		}
		if uid := preconditions.UID; uid != nil && *uid != pod.UID {
			return apierrors.NewConflict(PodResource, pod.Name, fmt.Errorf("the object has the UID %s, not %s", pod.UID, *uid))
		}
		return nil
	}
}

// list performs one page of a list.
func (h *Handler) list(ctx context.Context, op *model.Operation, token string) (next string, err error) {
	op.Remaining = -1
	options := &internalversion.ListOptions{
		LabelSelector:        LabelSelector(op.Selector),
		FieldSelector:        FieldSelector(op.Scope, op.Selector),
		ResourceVersion:      FormatRV(op.RV),
		ResourceVersionMatch: metav1.ResourceVersionMatch(op.Match),
		Limit:                op.Limit,
		Continue:             token,
	}
	if err := h.validate(options); err != nil {
		return "", err
	}
	key, storageOptions := storageOptionsOf(op.Scope, options)
	var pods corev1.PodList
	ctx = request.WithNamespace(ctx, op.Scope.Namespace)
	if err := h.Storage.GetList(ctx, key, storageOptions, &pods); err != nil {
		return "", storeerr.InterpretListError(err, PodResource)
	}
	op.ResultRV = ParseRV(pods.ResourceVersion)
	op.Objects = make([]model.Object, len(pods.Items))
	for i := range pods.Items {
		op.Objects[i] = ObjectOf(&pods.Items[i])
	}
	op.HasMore = pods.Continue != ""
	if pods.RemainingItemCount != nil {
		op.Remaining = *pods.RemainingItemCount
	}
	return pods.Continue, nil
}

// validate defaults and validates the options of a list or watch as the HTTP handler
// does.
func (h *Handler) validate(options *internalversion.ListOptions) error {
	if errs := h.Release.Validate(options); len(errs) > 0 {
		return apierrors.NewInvalid(listOptionsKind, "", errs)
	}
	return nil
}

// storageOptionsOf returns the registry's request to its storage for a list or watch:
// for one key if the selector names one pod, otherwise for a key prefix.
func storageOptionsOf(scope model.Scope, options *internalversion.ListOptions) (string, storage.ListOptions) {
	selection := Predicate(options.LabelSelector, options.FieldSelector)
	selection.Limit = options.Limit
	selection.Continue = options.Continue
	selection.AllowWatchBookmarks = options.AllowWatchBookmarks
	root := model.Scope{Namespace: scope.Namespace}
	recursive := true
	if name, ok := selection.MatchesSingle(); ok && scope.Namespace != "" {
		root.Name, recursive = name, false
	}
	return KeyOf(root), storage.ListOptions{
		ResourceVersion:      options.ResourceVersion,
		ResourceVersionMatch: options.ResourceVersionMatch,
		Predicate:            selection,
		Recursive:            recursive,
	}
}
