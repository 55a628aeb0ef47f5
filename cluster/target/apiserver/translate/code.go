package translate

import (
	"errors"
	"fmt"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchsim/watchsim/model"
)

// CodeOf classifies an error as the registry returns it, or as an ERROR event
// carries it. What is not an API error becomes a 500 in an API server, and says
// nothing of whether a write took effect: that is Unknown, as are timeouts.
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

// ErrorOf is the error a client gets for a code: what client-go makes of a
// response of that kind, so that an informer reacts as to a real server.
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

// tooLarge is the error of a read at an RV that lies in the future.
func tooLarge(message string) error {
	err := apierrors.NewTimeoutError(message, 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// StatusOf is the object of an ERROR event that carries an error.
func StatusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	status := api.Status()
	return &status
}
