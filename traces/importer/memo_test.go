package importer

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A result is created again only if it was dropped, or had failed.
func TestMemo(t *testing.T) {
	made := 0
	length := func(text []byte) (int, error) {
		made++
		if len(text) == 0 {
			return 0, errors.New("nothing is there")
		}
		return len(text), nil
	}
	var memo Memo[int]
	ask := func(text string, want, wantMade int) {
		t.Helper()
		got, err := memo.Of([]byte(text), length)
		require.Equal(t, text == "", err != nil)
		require.Equal(t, []int{want, wantMade}, []int{got, made})
	}
	ask("a", 1, 1)
	ask("bc", 2, 2)
	ask("a", 1, 2)
	ask("", 0, 3)
	ask("", 0, 4)
	long := strings.Repeat("x", memoBytes-2)
	ask(long, len(long), 5) // too much with the others, which are forgotten
	ask(long, len(long), 5)
	ask("a", 1, 6)
	ask(long, len(long), 6)

	var none *Memo[int]
	for range 2 {
		_, err := none.Of([]byte("a"), length)
		require.NoError(t, err)
	}
	require.Equal(t, 8, made)
}

// The cache has all that a reducer returns, and never confuses two objects.
func TestAReducerThatRemembersReadsTheSame(t *testing.T) {
	remembering := plain.Remembering()
	for range 2 {
		for _, text := range []string{
			`{"kind":"Pod","metadata":{"namespace":"n","name":"a","uid":"u","resourceVersion":"5","labels":{"l":"v"}},"spec":{"nodeName":"x"}}`,
			`{"kind":"Pod","metadata":{"namespace":"n","name":"a","uid":"u","resourceVersion":"6","labels":{"l":"v"}},"spec":{"nodeName":"x"}}`,
			`{"kind":"Table","rows":[{"object":{"kind":"PartialObjectMetadata","metadata":{"name":"a","resourceVersion":"7"}}}]}`,
			`{"kind":"Pod","metadata":{"resourceVersion":"x"}}`, `{`,
		} {
			want, wantErr := plain.Object([]byte(text))
			got, err := remembering.Object([]byte(text))
			require.Equal(t, want, got)
			require.Equal(t, wantErr, err)
		}
	}
}
