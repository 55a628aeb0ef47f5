package swarm

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
)

func TestAWorkerOfOtherSourceSaysSo(t *testing.T) {
	in := strings.NewReader(`{"protocol":"of last week","spec":{"target":"kubernetes"}}` + "\n")
	var out strings.Builder
	require.NoError(t, Work(in, &out, func(string) (target.Target, error) {
		t.Fatal("the job was begun")
		return nil, nil
	}))
	require.Contains(t, out.String(), ErrProtocol.Error())
}

func TestTheProtocolFollowsTheTypes(t *testing.T) {
	describe := func(value any) string {
		var b strings.Builder
		describeType(&b, reflect.TypeOf(value), map[reflect.Type]bool{})
		return b.String()
	}
	type inner struct{ A int }
	type list struct {
		Next *list
		In   []inner
	}
	require.Equal(t, describe(list{}), describe(list{}))
	require.NotEqual(t, describe(struct{ A int }{}), describe(struct{ A string }{}))
	require.NotEqual(t, describe(struct{ A int }{}), describe(struct{ B int }{}))
	require.NotEqual(t, describe(struct {
		A int `json:"a"`
	}{}), describe(struct {
		A int `json:"b"`
	}{}))
	require.NotEqual(t, describe(struct{ In []inner }{}), describe(struct{ In []struct{ A, B int } }{}))
}
