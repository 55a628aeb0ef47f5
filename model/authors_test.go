package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuthorsAreFound(t *testing.T) {
	object := func(name, value string) *Object { return &Object{Namespace: "n", Name: name, Value: value} }
	authors := NewAuthors(&History{Operations: []Operation{
		{Kind: Get, Scope: Scope{Namespace: "n", Name: "a"}},
		{Kind: Create, Object: object("a", "1"), Err: Unknown},
		{Kind: Update, Object: object("a", "2"), ResultRV: 7},
		{Kind: Delete, Object: object("a", ""), ResultRV: 8},
		{Kind: Delete, Object: object("b", ""), Err: Unknown},
	}})
	for name, row := range map[string]struct {
		change Change
		author int
	}{
		"a write of unknown outcome":      {Change{RV: 6, Object: *object("a", "1")}, 1},
		"a write":                         {Change{RV: 7, Object: *object("a", "2")}, 2},
		"a deletion":                      {Change{RV: 8, Deleted: true, Object: *object("a", "2")}, 3},
		"a deletion nobody was told of":   {Change{RV: 9, Deleted: true, Object: *object("b", "3")}, -1},
		"the same content of another":     {Change{RV: 7, Object: *object("c", "2")}, -1},
		"a write that nobody asked for":   {Change{RV: 5, Object: *object("a", "0")}, -1},
		"no deletion, for all its number": {Change{RV: 8, Object: *object("d", "4")}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			author, ok := authors.Of(&row.change)
			require.Equal(t, row.author >= 0, ok)
			if ok {
				require.Equal(t, row.author, author)
			}
		})
	}
}
