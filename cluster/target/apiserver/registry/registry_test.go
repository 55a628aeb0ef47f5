package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"github.com/watchsim/watchsim/model"
)

// The code of an error says what a client may conclude, and the answer what the server said if that is nothing.
func TestWhatAnErrorSays(t *testing.T) {
	failed := errors.New("unable to encode next field: the key and key prefix do not match")
	asEvent := func(err error) error { return apierrors.FromObject(StatusOf(err)) }
	for name, row := range map[string]struct {
		err    error
		code   model.Code
		answer model.Answer
	}{
		"success": {nil, model.OK, ""},

		// Errors of the storage, as the registry interprets them.
		"get, not found":     {storeerr.InterpretGetError(storage.NewKeyNotFoundError("k", 1), PodResource, "a"), model.NotFound, ""},
		"update, not found":  {storeerr.InterpretUpdateError(storage.NewKeyNotFoundError("k", 1), PodResource, "a"), model.NotFound, ""},
		"delete, not found":  {storeerr.InterpretDeleteError(storage.NewKeyNotFoundError("k", 1), PodResource, "a"), model.NotFound, ""},
		"create, exists":     {storeerr.InterpretCreateError(storage.NewKeyExistsError("k", 1), PodResource, "a"), model.AlreadyExists, ""},
		"update, conflict":   {storeerr.InterpretUpdateError(storage.NewResourceVersionConflictsError("k", 1), PodResource, "a"), model.Conflict, ""},
		"update, UID":        {storeerr.InterpretUpdateError(storage.NewInvalidObjError("k", "uid"), PodResource, "a"), model.Conflict, ""},
		"delete, RV":         {storeerr.InterpretDeleteError(storage.NewInvalidObjError("k", "rv"), PodResource, "a"), model.Conflict, ""},
		"create, no answer":  {storeerr.InterpretCreateError(storage.NewUnreachableError("k", 1), PodResource, "a"), model.Unknown, model.TimedOut},
		"list, timeout":      {storeerr.InterpretListError(storage.NewTimeoutError("k", "late"), PodResource), model.Unknown, model.TimedOut},
		"get, unreadable":    {storeerr.InterpretGetError(storage.NewInternalError(failed), PodResource, "a"), model.Unknown, model.InternalError},
		"list, corrupt":      {storeerr.InterpretListError(storage.NewCorruptObjError("k", failed), PodResource), model.Unknown, model.InternalError},
		"list, future":       {storeerr.InterpretListError(storage.NewTooLargeResourceVersionError(9, 1, 1), PodResource), model.TooLarge, ""},
		"list, future, deep": {fmt.Errorf("list: %w", storage.NewTooLargeResourceVersionError(9, 1, 1)), model.TooLarge, ""},

		// API errors of the layers between.
		"expired": {apierrors.NewResourceExpired("old"), model.Expired, ""},
		//lint:ignore SA1019 servers of older releases answer with it
		"gone":                {apierrors.NewGone("gone"), model.Expired, ""},
		"bad request":         {apierrors.NewBadRequest("bad"), model.Invalid, ""},
		"invalid":             {apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil), model.Invalid, ""},
		"too many requests":   {apierrors.NewTooManyRequests("etcdserver: request timed out", 1), model.TooMany, ""},
		"unavailable":         {apierrors.NewServiceUnavailable("stopping"), model.Unavailable, ""},
		"timeout":             {apierrors.NewTimeoutError("late", 1), model.Unknown, model.TimedOut},
		"server timeout":      {apierrors.NewServerTimeout(PodResource, "get", 1), model.Unknown, model.TimedOut},
		"internal":            {apierrors.NewInternalError(failed), model.Unknown, model.InternalError},
		"no status at all":    {failed, model.Unknown, model.InternalError},
		"status without code": {apierrors.FromObject(&metav1.Status{Message: "?"}), model.Unknown, model.InternalError},

		// Errors of etcd and of its client that reach the handler unchanged, or as the text of an event.
		"no leader":              {rpctypes.ErrNoLeader, model.Unknown, model.StoreError},
		"no leader, wrapped":     {fmt.Errorf("list: %w", rpctypes.ErrNoLeader), model.Unknown, model.StoreError},
		"no leader, as an event": {asEvent(rpctypes.ErrNoLeader), model.Unknown, model.StoreError},
		"etcd timed out":         {rpctypes.ErrTimeout, model.Unknown, model.StoreError},
		"etcd is not there":      {rpctypes.ErrStopped, model.Unknown, model.StoreError},
		"no connection":          {status.Error(codes.Unavailable, "error reading from server: EOF"), model.Unknown, model.StoreError},
		"closing, as an event":   {apierrors.FromObject(&metav1.Status{Message: "rpc error: code = Canceled desc = grpc: the client connection is closing", Reason: metav1.StatusReasonInternalError}), model.Unknown, model.StoreError},
		"deadline":               {context.DeadlineExceeded, model.Unknown, model.TimedOut},
		"deadline, as an event":  {asEvent(context.DeadlineExceeded), model.Unknown, model.TimedOut},
		"cancelled":              {context.Canceled, model.Unknown, model.StoreError},
		"cancelled, as an event": {asEvent(context.Canceled), model.Unknown, model.StoreError},
	} {
		require.Equal(t, row.code, CodeOf(row.err), name)
		require.Equal(t, row.answer, AnswerOf(row.err), name)
	}
}

func TestRevisionOf(t *testing.T) {
	for err, want := range map[error]int64{
		nil:                                 model.RVUnset,
		errors.New("failed"):                model.RVUnset,
		storage.NewKeyNotFoundError("k", 0): model.RVUnset,
		storage.NewKeyNotFoundError("k", 7): 7,
	} {
		require.Equal(t, want, RevisionOf(err), "%v", err)
	}
}

// An informer must see its server's error, both from a response and from an ERROR
// event.
func TestErrorOfIsTheInverseOfCodeOf(t *testing.T) {
	for _, code := range []model.Code{
		model.OK, model.NotFound, model.AlreadyExists, model.Conflict, model.Expired,
		model.TooLarge, model.Invalid, model.TooMany, model.Unknown,
	} {
		err := ErrorOf(code, "message")
		require.Equal(t, code, CodeOf(err), code)
		if code != model.OK {
			require.ErrorContains(t, err, "message", code)
			require.Equal(t, code, CodeOf(apierrors.FromObject(StatusOf(err))), code)
		}
	}
	require.True(t, utilnet.IsConnectionRefused(ErrorOf(model.Unavailable, "message")))
	require.EqualValues(t, http.StatusInternalServerError, StatusOf(ErrorOf(model.Unknown, "message")).Code)
}

func TestDecode(t *testing.T) {
	want := model.Object{Namespace: "n", Name: "a", Labels: map[string]string{"app": "x"}, Node: "node-1", Value: "1", UID: "client-1"}
	value, err := runtime.Encode(PodCodec, PodOf(&want))
	require.NoError(t, err)
	got, err := Decode("/registry/pods/n/a", value)
	require.NoError(t, err)
	require.Equal(t, want, got)

	_, err = Decode("/registry/pods/n/a", []byte("no pod"))
	require.ErrorContains(t, err, "/registry/pods/n/a is not a pod")
}

func BenchmarkDecode(b *testing.B) {
	value, err := runtime.Encode(PodCodec, PodOf(&model.Object{Namespace: "n", Name: "a", Labels: map[string]string{"app": "x"}, Node: "node-1", Value: "1", UID: "client-1"}))
	require.NoError(b, err)
	for b.Loop() {
		_, err := Decode("k", value)
		require.NoError(b, err)
	}
}

func TestAScribbleReachesAllThatAPodShares(t *testing.T) {
	stored := PodOf(&model.Object{Name: "a", Value: "v", Labels: map[string]string{"app": "web"}})
	delivered := *stored // a shallow copy, as a careless cache would deliver
	mutate(&delivered, 9)
	seen := ObjectOf(stored)
	by, found := model.MutatedBy(&seen)
	require.True(t, found)
	require.Equal(t, 9, by)
}
