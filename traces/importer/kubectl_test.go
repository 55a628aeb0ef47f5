package importer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

const kubectlOutput = `{
    "type": "ADDED",
    "object": {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "default", "name": "a", "uid": "u", "resourceVersion": "5", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1"}
    }
}
{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"7"}}}
{"type":"DELETED","object":{"kind":"Pod","metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"9"}}}
`

// kubectl reads the output of one kubectl.
func kubectl(text string) func(*Recording) error {
	return func(recording *Recording) error { return readKubectl(recording, "a", "f", strings.NewReader(text)) }
}

func TestAWatchIsRead(t *testing.T) {
	h, left, err := historyOf(kubectl(kubectlOutput + `{"type":"ERROR","object":{"kind":"Status","code":410}}` + `{"type":"ADD`))
	require.NoError(t, err)
	require.Equal(t, []string{"1 f:11 (byte 555): the file ends in the middle of a value that begins at line 11"}, left)
	require.Len(t, h.Streams, 1)
	var got []string
	for _, event := range h.Streams[0].Events {
		got = append(got, string(event.Type)+string(event.Err))
		require.Equal(t, h.End, event.Time, "nobody knows when")
	}
	require.Equal(t, []string{"ADDED", "MODIFIED", "DELETED", "ERRORExpired"}, got)
	require.Equal(t, model.RVUnset, h.Streams[0].RV)
	require.Len(t, h.Truth.Changes, 3)
	require.Equal(t, h.Truth.Changes[1].Object.Value, h.Streams[0].Events[2].Object.Value, "the last state")
}

func TestBadKubectlOutputIsRefusedWithAPosition(t *testing.T) {
	for name, row := range map[string]struct{ text, says string }{
		"no events":       {`{"kind":"Pod"}`, "f:1 (byte 0): expected a watch event with the fields type and object, found one of them missing; was kubectl given --output-watch-events and -o json?"},
		"a table":         {"NAME  READY\n", `f:1 (byte 0): expected a JSON object, found "NAME  READY\n"`},
		"two kinds":       {kubectlOutput + `{"type":"ADDED","object":{"kind":"Node"}}`, `f:11 (byte 489): expected an object of the kind "Pod", as before it, found the kind "Node"; watch one resource at a time`},
		"an RV of a sort": {`{"type":"ADDED","object":{"metadata":{"resourceVersion":"1.5"}}}`, `f:1 (byte 0): expected a resourceVersion that is a number of at most 63 bits, found "1.5"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := historyOf(kubectl(row.text))
			require.ErrorContains(t, err, row.says)
		})
	}
}

// FuzzKubectl reads arbitrary input. The reader refuses it with a position, or makes a
// valid history.
func FuzzKubectl(f *testing.F) {
	f.Add(kubectlOutput)
	f.Add(strings.ReplaceAll(kubectlOutput, "ADDED", "BOOKMARK"))
	f.Add(strings.ReplaceAll(kubectlOutput, "DELETED", "ERROR"))
	f.Fuzz(func(t *testing.T, text string) { refusedOrRead(t, kubectl(text)) })
}
