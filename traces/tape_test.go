package traces

import (
	"bytes"
	"fmt"
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
		"empty":     {nil, `line 1: expected the format "watchsim.tape"`},
		"foreign":   {[]byte("#!/bin/sh\necho hello\n"), `found "#!/bin/sh"`},
		"truncated": {whole[:len(whole)-3], fmt.Sprintf("byte %d: expected the end of 10 bytes of decisions, found 7;", len(whole)-3)},
		"longer":    {append(bytes.Clone(whole), 'x'), fmt.Sprintf("byte %d: expected the end of 10 bytes of decisions, found 11 or more", len(whole))},
		"damaged":   {damaged, fmt.Sprintf("bytes %d to %d: expected decisions with the checksum", len(whole)-10, len(whole))},
		"endless":   {bytes.Repeat([]byte("x"), 1<<20), "line 1: expected the format"},
		"negative":  {bytes.Replace(whole, []byte(`"bytes":10`), []byte(`"bytes":-1`), 1), "line 1: expected 0 to 1073741824 bytes of decisions, found -1"},
		"newer":     {bytes.Replace(whole, []byte(`"version":1`), []byte(`"version":2`), 1), "line 1: expected version 1, found version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTape(bytes.NewReader(row.content))
			require.ErrorIs(t, err, ErrTape)
			require.ErrorContains(t, err, row.says)
		})
	}
}

// FuzzReadTape requires that for any bytes, the reader returns ErrTape in one line with a position, or a
// tape that survives a round trip.
func FuzzReadTape(f *testing.F) {
	var file bytes.Buffer
	require.NoError(f, WriteTape(&file, Tape{Seed: 7, Decisions: []byte("0123456789")}))
	whole := file.Bytes()
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(append(bytes.Clone(whole), whole...))
	f.Add(bytes.Replace(whole, []byte(`"bytes":10`), []byte(`"bytes":9223372036854775807`), 1))
	f.Fuzz(func(t *testing.T, content []byte) {
		tape, err := ReadTape(bytes.NewReader(content))
		if err != nil {
			require.ErrorIs(t, err, ErrTape)
			require.NotContains(t, err.Error(), "\n")
			require.Regexp(t, `: (line 1|byte [0-9]+|bytes [0-9]+ to [0-9]+): `, err.Error(), "an error has a position")
			return
		}
		var again bytes.Buffer
		require.NoError(t, WriteTape(&again, tape))
		read, err := ReadTape(&again)
		require.NoError(t, err)
		require.Equal(t, tape, read)
	})
}
