package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

func TestOwedFollowsTheSelectorNotTheWriter(t *testing.T) {
	web, db := map[string]string{"app": "web"}, map[string]string{"app": "db"}
	object := func(labels map[string]string, value string) model.Object {
		return model.Object{Namespace: "a", Name: "x", Labels: labels, Value: value}
	}
	truth := &model.Truth{Revision: 20, Changes: []model.Change{
		{RV: 2, Object: object(db, "v1")},
		{RV: 4, Object: object(web, "v2")},
		{RV: 5, Object: object(web, "v3")},
		{RV: 7, Object: object(db, "v4")},
		{RV: 9, Object: object(web, "v5")},
		{RV: 12, Deleted: true, Object: object(web, "v5")},
		{RV: 15, Object: object(web, "v6")},
	}}
	at := func(o model.Object, rv int64) *model.Object { o.RV = rv; return &o }

	require.Equal(t, []model.Transition{
		{Type: model.Added, RV: 4, Object: at(object(web, "v2"), 4)},
		{Type: model.Modified, RV: 5, Object: at(object(web, "v3"), 5)},
		{Type: model.Deleted, RV: 7, Object: at(object(web, "v3"), 7)},
		{Type: model.Added, RV: 9, Object: at(object(web, "v5"), 9)},
		{Type: model.Deleted, RV: 12, Object: at(object(web, "v5"), 12)},
		{Type: model.Added, RV: 15, Object: at(object(web, "v6"), 15)},
	}, model.NewStore(truth).Owed(model.Scope{}, model.Selector{Labels: web}, 0, 20))
}

func TestOwedExcludesItsStartAndIncludesItsEnd(t *testing.T) {
	truth := &model.Truth{Revision: 4, Changes: []model.Change{
		{RV: 2, Object: model.Object{Name: "x", Value: "v1"}},
		{RV: 3, Object: model.Object{Name: "x", Value: "v2"}},
		{RV: 4, Object: model.Object{Name: "x", Value: "v3"}},
	}}
	owed := model.NewStore(truth).Owed(model.Scope{}, model.Selector{}, 2, 3)
	require.Len(t, owed, 1)
	require.EqualValues(t, 3, owed[0].RV)
}

func TestScopeNarrowsByNamespaceAndName(t *testing.T) {
	key := model.Key{Namespace: "a", Name: "x"}
	require.True(t, model.Scope{}.Contains(key))
	require.True(t, model.Scope{Namespace: "a", Name: "x"}.Contains(key))
	require.False(t, model.Scope{Namespace: "a", Name: "y"}.Contains(key))
	require.False(t, model.Scope{Namespace: "b"}.Contains(key))
	require.False(t, model.Scope{Namespace: "a-"}.Contains(key))
}

func TestSelectorIsAConjunction(t *testing.T) {
	object := &model.Object{Labels: map[string]string{"app": "web", "tier": ""}, Node: "n1"}
	require.True(t, model.Selector{}.Matches(object))
	require.True(t, model.Selector{Labels: map[string]string{"app": "web"}, Node: "n1"}.Matches(object))
	require.False(t, model.Selector{Labels: map[string]string{"app": "web"}, Node: "n2"}.Matches(object))
	require.True(t, model.Selector{Labels: map[string]string{"tier": ""}}.Matches(object))
	require.False(t, model.Selector{Labels: map[string]string{"zone": ""}}.Matches(object), "absent is not empty")
	require.False(t, model.Selector{}.Matches(nil))
}
