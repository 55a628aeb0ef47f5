package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

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
