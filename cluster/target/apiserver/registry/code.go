package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchsim/watchsim/model"
)

// CodeOf classifies an error of the registry or of an ERROR event. Whatever is not an
// API error becomes a 500 in an API server and does not tell whether a write took
// effect: it is Unknown, like timeouts.
func CodeOf(err error) model.Code {
	switch {
	case err == nil:
		return model.OK
	case storage.IsTooLargeResourceVersion(err):
		return model.TooLarge
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return model.Expired
	case apierrors.IsNotFound(err):
		return model.NotFound
	case apierrors.IsAlreadyExists(err):
		return model.AlreadyExists
	case apierrors.IsConflict(err):
		return model.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return model.Invalid
	case apierrors.IsTooManyRequests(err):
		return model.TooMany
	case apierrors.IsServiceUnavailable(err):
		return model.Unavailable
	default:
		return model.Unknown
	}
}

// AnswerOf says what the server answered with an error whose code is Unknown. Errors of etcd and of
// contexts keep their types in the storage, except in events of watches: there an API server turns
// them into a status, and only their text is left.
func AnswerOf(err error) model.Answer {
	if CodeOf(err) != model.Unknown {
		return ""
	}
	var ofEtcd rpctypes.EtcdError
	var ofConnection interface{ GRPCStatus() *status.Status }
	var answered apierrors.APIStatus
	says := func(texts ...string) bool {
		return errors.As(err, &answered) && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), says(context.DeadlineExceeded.Error()):
		return model.TimedOut
	case errors.As(err, &ofEtcd), errors.As(err, &ofConnection), errors.Is(err, context.Canceled),
		says("etcdserver: ", "rpc error: ", context.Canceled.Error()):
		return model.StoreError
	}
	return model.InternalError
}

// RevisionOf returns the revision that an error of the storage names, RVUnset if none.
func RevisionOf(err error) int64 {
	var of *storage.StorageError
	if errors.As(err, &of) && of.ResourceVersion > 0 {
		return of.ResourceVersion
	}
	return model.RVUnset
}

// ErrorOf returns the error that client-go makes of a response with that code, so that
// an informer reacts as it does to a real server.
func ErrorOf(code model.Code, message string) error {
	switch code {
	case model.OK:
		return nil
	case model.TooLarge:
		return tooLarge(message)
	case model.Expired:
		return apierrors.NewResourceExpired(message)
	case model.NotFound:
		return apierrors.NewNotFound(PodResource, message)
	case model.AlreadyExists:
		return apierrors.NewAlreadyExists(PodResource, message)
	case model.Conflict:
		return apierrors.NewConflict(PodResource, "", errors.New(message))
	case model.Invalid:
		return apierrors.NewBadRequest(message)
	case model.TooMany:
		return apierrors.NewTooManyRequests(message, 1)
	case model.Unavailable:
		return fmt.Errorf("%s: %w", message, syscall.ECONNREFUSED)
	default:
		return errors.New(message)
	}
}

// tooLarge returns the error of a read at a future RV.
func tooLarge(message string) error {
	err := apierrors.NewTimeoutError(message, 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// StatusOf returns the object of an ERROR event for an error.
func StatusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	return new(api.Status())
}
