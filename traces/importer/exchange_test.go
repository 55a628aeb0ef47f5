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

// An update that removes the last finalizer returns the object, even if it lost the race: the registry ignores that the object is gone
// (k8s.io/apiserver/pkg/registry/generic/registry, deleteWithoutFinalizers). So the update made the deletion only if no other request can have.
func TestADeletionByUpdate(t *testing.T) {
	about := func(rv int64) model.Object { return model.Object{Namespace: "n", Name: "a", UID: "u", RV: rv} }
	etcd := etcdPart{To: 6, State: true, Changes: []model.Change{{RV: 5, Object: about(5)}, {RV: 6, Deleted: true, Object: model.Object{Namespace: "n", Name: "a", RV: 6}}}}
	operation := func(kind model.Kind, err model.Code, rv int64, objects ...model.Object) model.Operation {
		return model.Operation{Kind: kind, Client: "c", Server: "s", Call: 10, Return: 20, Err: err, ResultRV: rv, Objects: objects,
			Scope: model.Scope{Namespace: "n", Name: "a"}, Object: &model.Object{Namespace: "n", Name: "a"}}
	}
	update, status := operation(model.Delete, model.OK, 0, about(5)), operation(model.Delete, model.OK, 0, about(0))
	for name, row := range map[string]struct {
		parts []any
		named int
	}{
		"one update":                           {[]any{update}, 1},
		"one status":                           {[]any{status}, 1},
		"two updates":                          {[]any{update, update}, 0},
		"an update and a status":               {[]any{update, status}, 0},
		"another delete has its RV":            {[]any{update, operation(model.Delete, model.OK, 6)}, 1},
		"another delete was lost":              {[]any{update, operation(model.Delete, model.Unknown, 0)}, 0},
		"others have deleted":                  {[]any{update, leftOut(OmittedOthers)}, 0},
		"others have deleted before a status":  {[]any{status, leftOut(OmittedOthers)}, 1},
		"another object of the name is gone":   {[]any{operation(model.Delete, model.OK, 0, model.Object{Namespace: "n", Name: "a", UID: "v", RV: 5}), update}, 1},
		"a status beside a delete with its RV": {[]any{status, operation(model.Delete, model.OK, 6)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, h, err := recording(t, append(row.parts, etcd)...).History(HistoryOptions{})
			require.NoError(t, err)
			named := 0
			for _, op := range h.Operations {
				if op.Kind == model.Delete && op.ResultRV == 6 {
					named++
				}
			}
			require.Equal(t, row.named, named)
		})
	}
}
