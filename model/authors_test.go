package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuthorsAreFound(t *testing.T) {
	object := func(name, value string) *Object { return &Object{Namespace: "n", Name: name, Value: value} }
	label := map[string]string{"app": "a"}
	changes := []Change{
		{RV: 5, Object: *object("a", "0")},
		{RV: 6, Object: *object("a", "1")},
		{RV: 7, Object: *object("a", "2")},
		{RV: 8, Deleted: true, Object: *object("a", "2")},
		{RV: 9, Deleted: true, Object: *object("b", "3")},
		{RV: 10, Object: *object("c", "4")},
		{RV: 11, Object: *object("c", "4")},
		{RV: 12, Object: *object("c", "4")},
	}
	authors := NewAuthors(&History{Truth: Truth{Changes: changes}, Operations: []Operation{
		{Kind: Get, Scope: Scope{Namespace: "n", Name: "a"}},
		{Kind: Create, Object: object("a", "1"), Err: Unknown},
		{Kind: Update, Object: object("a", "2"), ResultRV: 7},
		{Kind: Delete, Object: object("a", ""), ResultRV: 8},
		{Kind: Delete, Object: object("b", ""), Err: Unknown},
		{Kind: Create, Object: object("c", "4"), ResultRV: 10},
		{Kind: Get, Scope: Scope{Namespace: "n", Name: "c"}, Touch: true, Patch: label, ResultRV: 11},
		{Kind: Get, Scope: Scope{Namespace: "n", Name: "c"}, Touch: true, Patch: label, ResultRV: 11},
		{Kind: Get, Scope: Scope{Namespace: "n", Name: "c"}, Touch: true, Patch: label, Err: Unknown},
	}})
	for i, row := range []struct {
		name   string
		author int
	}{
		{"an unrecorded write", -1},
		{"a write of unknown outcome", 1},
		{"a write", 2},
		{"a deletion", 3},
		{"an unacknowledged deletion", -1},
		{"a create whose content recurs", 5},
		{"a patch, repeated by another one", 6},
		{"an unacknowledged patch", -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			author, ok := authors.Of(&changes[i])
			require.Equal(t, row.author >= 0, ok)
			if ok {
				require.Equal(t, row.author, author)
			}
		})
	}
}
