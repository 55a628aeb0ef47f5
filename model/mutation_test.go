package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

func TestScribblesAreFoundWhereverTheyAre(t *testing.T) {
	mark := model.MutationMark(17)
	for _, object := range []model.Object{
		{Value: mark}, {Node: mark}, {UID: mark},
		{Labels: map[string]string{"app": "web", "tier": mark}},
		{Labels: map[string]string{"app": mark, "tier": model.MutationMark(18)}},
	} {
		by, found := model.MutatedBy(&object)
		require.True(t, found, "%+v", object)
		require.Equal(t, 17, by, "%+v", object)
	}
	for _, object := range []*model.Object{
		nil, {}, {Value: "writer-1-7", Node: "node-1", Labels: map[string]string{"app": "web"}},
		{Value: "scribbled over by stream"}, {Value: "scribbled over by stream x"},
	} {
		_, found := model.MutatedBy(object)
		require.False(t, found, "%+v", object)
	}
}

func TestScribblingGoesThroughWhatIsShared(t *testing.T) {
	stored := model.Object{Name: "x", Value: "v", Labels: map[string]string{"app": "web"}}
	delivered := stored // the labels are shared
	model.Mutate(&delivered, 3)
	by, found := model.MutatedBy(&delivered)
	require.True(t, found)
	require.Equal(t, 3, by)
	_, found = model.MutatedBy(&stored)
	require.True(t, found, "a shallow copy does not isolate")
	require.Equal(t, "v", stored.Value)
}
