package recorder

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// Clients of metadata alone get statuses in protobuf, whatever else they accept.
func TestStatusesInProtobuf(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	tooLarge := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 504, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}}}}
	for _, row := range []struct {
		failure *apierrors.StatusError
		want    model.Code
	}{
		{apierrors.NewNotFound(pods, "a"), model.NotFound},
		{apierrors.NewGenericServerResponse(404, "get", pods, "", "", 0, true), model.Unavailable},
		{apierrors.NewAlreadyExists(pods, "a"), model.AlreadyExists},
		{apierrors.NewConflict(pods, "a", nil), model.Conflict},
		{tooLarge, model.TooLarge},
	} {
		var text bytes.Buffer
		require.NoError(t, protobuf.NewSerializer(nil, nil).Encode(&row.failure.ErrStatus, &text))
		require.Equal(t, row.want, importer.FailureOf(int(row.failure.ErrStatus.Code), text.Bytes()), "%v", row.failure)
	}
}
