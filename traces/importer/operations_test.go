package importer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

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
