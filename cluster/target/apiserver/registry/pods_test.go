package registry

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

func TestAScribbleReachesAllThatAPodShares(t *testing.T) {
	stored := PodOf(&model.Object{Name: "a", Value: "v", Labels: map[string]string{"app": "web"}})
	delivered := *stored // a shallow copy, as a careless cache would deliver
	mutate(&delivered, 9)
	seen := ObjectOf(stored)
	by, found := model.MutatedBy(&seen)
	require.True(t, found)
	require.Equal(t, 9, by)
}
