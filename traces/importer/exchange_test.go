package importer

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// An update that removes the last finalizer of an object with a deletionTimestamp deletes it, and returns
// its previous revision. The resourceVersion of the update is not a precondition of the deletion.
func TestAnUpdateThatLeavesNothingToWaitForDeletes(t *testing.T) {
	for name, row := range map[string]struct {
		meta string
		want model.Kind
	}{
		"not terminating":                             {`"finalizers":[]`, model.Update},
		"terminating, with a finalizer":               {`"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":0,"finalizers":["f"]`, model.Update},
		"terminating, in its grace period":            {`"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":5`, model.Update},
		"terminating, without a finalizer":            {`"deletionTimestamp":"2026-01-01T00:00:00Z"`, model.Delete},
		"a terminating namespace with a finalizer":    {`"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"finalizers":["kubernetes"]`, model.Update},
		"a terminating namespace without a finalizer": {`"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"finalizers":[]`, model.Delete},
		"terminating, after its grace period":         {`"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":0`, model.Delete},
	} {
		t.Run(name, func(t *testing.T) {
			x := Exchange{Kind: model.Update, Code: http.StatusOK, Body: []byte(`{"kind":"Pod","metadata":{"namespace":"n","name":"x","resourceVersion":"7",` + row.meta + `}}`)}
			x.Scope, x.Sent = model.Scope{Namespace: "n", Name: "x"}, 6
			op, omitted, err := x.Operation(plain, nil)
			require.NoError(t, err)
			require.Empty(t, omitted)
			require.Equal(t, row.want, op.Kind)
			if row.want == model.Delete {
				require.Zero(t, op.ResultRV)
				require.Zero(t, op.Precondition)
			}
		})
	}
}

// A create with NotFound has not found its namespace: the object may exist or not.
func TestACreateWithoutANamespace(t *testing.T) {
	for kind, want := range map[model.Kind]model.Code{model.Create: model.Unavailable, model.Update: model.NotFound} {
		x := Exchange{Request: Request{Resource: "pods", Scope: model.Scope{Namespace: "red", Name: "a"}}, Kind: kind, Code: 404, Err: model.NotFound}
		op, omitted, err := x.Operation(plain, nil)
		require.NoError(t, err)
		require.Empty(t, omitted)
		require.Equal(t, want, op.Err)
	}
}

// An update carries the resourceVersion and the UID that its client has read, and a conflict may be about either.
func TestAConflictNamesItsPreconditions(t *testing.T) {
	for code, uid := range map[model.Code]string{model.Conflict: "u", model.Unavailable: ""} {
		x := Exchange{Kind: model.Update, Err: code, Sent: 10, SentUID: "u"}
		x.Scope = model.Scope{Namespace: "default", Name: "a"}
		op, omitted, err := x.Operation(Reducer{}, nil)
		require.NoError(t, err)
		require.Empty(t, omitted)
		require.EqualValues(t, 10, op.Precondition)
		require.Equal(t, uid, op.Object.UID)
	}
}

// Lists with different selectors can have the same continue token, and continue separately.
func TestPagesBelongToWhatIsListed(t *testing.T) {
	pages := map[string]int{}
	list := func(colour, token, next string) (op model.Operation, omitted string) {
		x := Exchange{Kind: model.List, Body: fmt.Appendf(nil, `{"kind":"PodList","metadata":{"resourceVersion":"7","continue":%q},"items":[]}`, next)}
		x.Selector.Labels, x.Continue = map[string]string{"colour": colour}, token
		op, omitted, err := x.Operation(plain, pages)
		require.NoError(t, err)
		if x.Next != "" {
			pages[x.Next] = len(pages) + 1
		}
		return op, omitted
	}
	list("red", "", "token")
	list("blue", "", "token")
	for i, colour := range []string{"red", "blue"} {
		op, omitted := list(colour, "token", "")
		require.Empty(t, omitted)
		require.Equal(t, i+1, op.Continues)
	}
	_, omitted := list("green", "token", "")
	require.Equal(t, omittedPages, omitted)
}
