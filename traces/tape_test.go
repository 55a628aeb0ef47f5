package traces

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTapeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tape := Tape{
			Seed:      rapid.Uint64().Draw(t, "seed"),
			Decisions: rapid.SliceOf(rapid.Byte()).Draw(t, "decisions"),
		}
		var file bytes.Buffer
		require.NoError(t, WriteTape(&file, tape))
		read, err := ReadTape(&file)
		require.NoError(t, err)
		require.Equal(t, tape.Seed, read.Seed)
		require.True(t, bytes.Equal(tape.Decisions, read.Decisions))
	})
}

func TestTapeRefusesWhatIsNotOne(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, WriteTape(&file, Tape{Seed: 7, Decisions: []byte("0123456789")}))
	whole := file.Bytes()
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1]++

	for name, row := range map[string]struct {
		content []byte
		says    string
	}{
		"empty":     {nil, `expected a first line with the format "watchsim.tape"`},
		"foreign":   {[]byte("#!/bin/sh\necho hello\n"), `found "#!/bin/sh"`},
		"truncated": {whole[:len(whole)-3], "expected 10 bytes of decisions, found 7"},
		"longer":    {append(bytes.Clone(whole), 'x'), "expected 10 bytes of decisions, found 11"},
		"damaged":   {damaged, "the file is damaged"},
		"newer":     {bytes.Replace(whole, []byte(`"version":1`), []byte(`"version":2`), 1), "expected version 1, found version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTape(bytes.NewReader(row.content))
			require.ErrorIs(t, err, ErrTape)
			require.ErrorContains(t, err, row.says)
		})
	}
}
